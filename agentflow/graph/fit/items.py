"""Items: what comes out of a value when it is gone through one by one, told from the type alone."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from agentflow.graph.fit.annotation import meaning
from agentflow.graph.fit.meaning import (
    Choice,
    Either,
    Keyed,
    Many,
    Narrowed,
    Plain,
    Record,
    Row,
    Values,
)

__all__ = ["Items", "items_in"]

_STREAMS = frozenset(
    {
        *(collections.abc.Iterator, collections.abc.Generator),
        *(collections.abc.AsyncIterable, collections.abc.AsyncIterator),
        collections.abc.AsyncGenerator,
    }
)


@dataclass(slots=True)
class Items:
    """What a type says of the items of its values.

    Attributes:
        open: Whether some values may have items of which nothing is told.
        found: The types of items that are told.
        without: The parts of the type whose values are no list of items: numbers, texts, mappings, and sets, which have
            no order.
    """

    open: bool = False
    found: list[Any] = field(default_factory=list)
    without: list[Any] = field(default_factory=list)

    @property
    def never(self) -> bool:
        """Whether no value is a list of items."""
        return bool(self.without) and not self.open and not self.found


def items_in(annotation: Any) -> Items:
    """What a type says of the items of its values; never raises."""
    told = Items()
    try:
        _look(annotation, told)
    except Exception:
        # Asking a class of the author's what it is may run code of theirs, which may raise anything.
        told.open = True
    return told


def _look(annotation: Any, told: Items) -> None:
    if get_origin(annotation) in _STREAMS:
        told.found.append(next(iter(get_args(annotation)), Any))
        return
    match meaning(annotation):
        case Either(members):
            for member in members:
                _look(member, told)
        case Narrowed(inner):
            _look(inner, told)
        case Many(kind) if issubclass(kind, collections.abc.Set):
            told.without.append(annotation)
        case Many(_, item):
            told.found.append(item)
        case Row(places):
            told.found += places
        case Choice(kind) if issubclass(kind, collections.abc.Iterable):
            told.open |= not issubclass(kind, str | bytes)
        case Plain() | Values() | Keyed() | Record() | Choice():
            told.without.append(annotation)
        case _:
            told.open = True
