"""Migrations: how a run of an older version of a definition is taken over by a newer one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["Migration", "migrations_of"]


@dataclass(frozen=True, slots=True)
class Migration:
    """What makes a run of an older version one of this.

    Args:
        change: A function from the state that the run had, a mapping of field to value, to the one that it goes on with.
        nodes: Nodes that have another id now: the old one and the new one. A run that rested before the old one goes on with
            the new one.
    """

    change: Callable[[dict[str, Any]], Mapping[str, Any]]
    nodes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def migrations_of(given: Mapping[str, Any]) -> tuple[dict[str, Migration], list[str]]:
    """Migrations by the old version, and what among those given is none; a plain function is one that renames no node."""
    found: dict[str, Migration] = {}
    slips: list[str] = []
    for version, one in given.items():
        if isinstance(one, Migration):
            found[version] = one
        elif callable(one):
            found[version] = Migration(one)
        else:
            slips.append(
                f"migrations[{version!r}] is {one!r}; give a function of the state, or a Migration"
            )
    return found, slips
