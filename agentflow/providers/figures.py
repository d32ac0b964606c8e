"""Figures of usage, as servers report them: taken when they are counts, and left out when they are anything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["count", "details"]


def count(value: Any) -> int | None:
    """The value, if it is a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the figures; empty if it was not reported."""
    found = usage.get(name)
    return found if isinstance(found, Mapping) else {}
