"""Reducers: how a node's update of a field is joined with what the field holds.

Declared on the state's fields, as in `Annotated[list[str], append]`. A node returns the delta (the new items); only the delta
travels into records, so a field that grows costs what is new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentflow.graph.frozen import GrowingList, extend, growing

__all__ = ["BUILT_IN", "Reducer", "add", "append", "merge", "union"]


@dataclass(frozen=True, slots=True)
class Reducer:
    """How an update is joined with a field's value.

    Args:
        delta: The type of what nodes return; `None` means the type of the field itself.
        apply: A pure function `(current, delta) -> value`; `current` is `None` while the field is absent.
        name: What drawings and specs call it.
    """

    delta: Any
    apply: Callable[[Any, Any], Any]
    name: str = ""

    def __str__(self) -> str:
        return self.name or getattr(self.apply, "__qualname__", "a reducer")


def _append(current: list[Any] | None, delta: list[Any]) -> list[Any]:
    return [*(current or ()), *delta]


def _add(current: Any, delta: Any) -> Any:
    return delta if current is None else current + delta


def _merge(current: dict[Any, Any] | None, delta: dict[Any, Any]) -> dict[Any, Any]:
    return {**(current or {}), **delta}


def _union(current: set[Any] | None, delta: set[Any]) -> set[Any]:
    return {*(current or ()), *delta}


append = Reducer(None, _append, "append")
"""The field is a list; a node returns the list of new items, and they are put at its end."""

add = Reducer(None, _add, "add")
"""The field is a number (or anything with `+`); a node returns what is to be added."""

merge = Reducer(None, _merge, "merge")
"""The field is a mapping; a node returns the keys to set."""

union = Reducer(None, _union, "union")
"""The field is a set; a node returns the members to add."""


BUILT_IN = {reducer.name: reducer for reducer in (append, add, merge, union)}
"""The reducers that every definition knows, by their names."""


def several(reducer: Reducer) -> Reducer:
    """A reducer of lists of deltas, which are joined one after the other: what the branches of one node add."""

    def apply(current: Any, deltas: list[Any]) -> Any:
        for delta in deltas:
            current = reducer.apply(current, delta)
        return current

    return Reducer(list[Any], apply, str(reducer))


def appended(current: list[Any] | None, delta: list[Any]) -> GrowingList:
    """What `append` makes of frozen values, in place: linear in the delta, not in the list."""
    if isinstance(current, GrowingList):
        extend(current, delta)
        return current
    return growing([*(() if current is None else list.__iter__(current)), *list.__iter__(delta)])
