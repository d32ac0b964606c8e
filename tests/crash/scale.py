"""How much is tried: a sample where the tests run as usual, hundreds of seeds and every write under `make crash`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

__all__ = ["EVERY", "STORES", "part", "some"]

T = TypeVar("T")

_ASKED: Final = os.environ.get("AGENTFLOW_CRASH_SEEDS")

EVERY: Final = 1 if _ASKED else 15
"""Of so many writes one is tried, another one for each seed."""

STORES: Final = ("sqlite", "postgresql")
"""SQLite is `full` for even seeds, and `relaxed` for odd ones."""


def some(sample: int, share: float = 1.0) -> range:
    """The seeds of a test.

    Args:
        sample: How many are tried as usual.
        share: Which part of those that are asked for is tried under `make crash`.
    """
    return range(round(int(_ASKED) * share) if _ASKED else sample)


def part(items: Sequence[T], every: int) -> Sequence[T]:
    """One of so many as usual, all of them under `make crash`."""
    return items if _ASKED else items[::every]
