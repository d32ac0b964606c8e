"""How much `make crash` tries: hundreds of seeds, or as many as it is told."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["STORES", "some"]

_SEEDS: Final = int(os.environ.get("AGENTFLOW_CRASH_SEEDS", "1"))

STORES: Final = ("sqlite", "postgresql")
"""SQLite is `full` for even seeds, and `relaxed` for odd ones."""


def some(share: float = 1.0, *, least: int = 1) -> range:
    """The seeds of a test: a share of those that are asked for."""
    return range(max(least, round(_SEEDS * share)))
