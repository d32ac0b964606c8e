"""Records of functions, one for each boundary; or any object that has some of them as methods, as such a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from agentflow.graph.argument import TEXT

__all__ = ["as_record"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=_Named)


def as_record(kind: type[R], item: Any, parts: Iterable[str], *, name: str, **more: Any) -> R:
    """What was given as a record, with a name; nobody has looked yet whether its parts can be called.

    Args:
        kind: The class of the record.
        item: One of these, or an object that has some of the parts as methods, and perhaps a `name`.
        parts: The names of the parts.
        name: Its name, if it has none.
        more: What else a record has that is made of an object.

    Raises:
        TypeError: The name of a record is no text.
    """
    if isinstance(item, kind):
        TEXT.check("name", item.name, of=kind.__name__)
        return item if item.name else replace(item, name=name)  # type: ignore[type-var]
    own = getattr(item, "name", "")
    named = own if isinstance(own, str) and own else name
    made: Any = kind
    record: R = made(name=named, **{part: getattr(item, part, None) for part in parts}, **more)
    return record
