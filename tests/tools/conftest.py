"""Every test of tools begins with an empty log."""

from __future__ import annotations

import pytest

from tests.tools.logged import LOG


@pytest.fixture(autouse=True)
def empty_log() -> None:
    LOG.clear()
