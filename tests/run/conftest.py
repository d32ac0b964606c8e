"""Tests of runs wait for bodies as long as it takes; the clock on the wall decides nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from agentflow.run import detached


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cancelled bodies clean up however slow the machine is."""
    monkeypatch.setattr(detached, "GRACE", 60.0)


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch, patience: None) -> None:
    """Leave a body that ignores its cancel behind at once."""
    monkeypatch.setattr(detached, "GRACE", 0.001)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds threads until the test ends, and never longer."""
    event = threading.Event()
    yield event
    event.set()
