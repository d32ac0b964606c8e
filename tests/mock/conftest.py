"""What the tests that drive the vendors' clients live under."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def quick_collections() -> Iterator[None]:
    """Let collections of garbage, which OpenAI's client makes necessary, look at new objects only."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
