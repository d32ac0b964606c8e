"""One mapping of options laid over another, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["overlaid"]


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """What holds when `above` is laid over `below`: mappings are merged at every depth, everything else is replaced."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[name] = overlaid(under, value)
        else:
            merged[name] = value
    return merged
