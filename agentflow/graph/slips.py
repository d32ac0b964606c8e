"""Slips: what an author wrote that cannot be read, told in words instead of raised.

Declarations are brought into normal form where they are made. What cannot be is left out and noted, so that
`define_workflow` can report every slip of a definition at once.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, Final, TypeVar

from agentflow.graph.excerpt import excerpt

__all__ = ["ID_RULE", "Slips", "identifier", "is_id"]

T = TypeVar("T")

_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*\Z")
ID_RULE: Final = "letters, digits and _ - . only, starting with a letter or _"
"""What an id looks like, in words."""


def is_id(name: object) -> bool:
    """Whether `name` is well formed as an id."""
    return isinstance(name, str) and _ID.match(name) is not None


def identifier(given: object) -> str:
    """An id as it was given; what is no text becomes text that is malformed as an id."""
    if isinstance(given, str):
        return given
    text = excerpt(given)
    return text if text.startswith("<") else f"<{text}>"


class Slips:
    """The slips of one declaration, noted while its parts are brought into normal form."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def note(self, slip: str) -> None:
        """Keep a slip for the report."""
        self.found.append(slip)

    def name(self, what: str, given: object) -> str:
        """A field name; what is none becomes an empty one."""
        if isinstance(given, str) and given:
            return given
        self.note(f"{what} names {excerpt(given)}, which is no field name")
        return ""

    def names(self, what: str, given: object) -> tuple[str, ...]:
        """Field names, in the order given; a set has none, so its names are sorted."""
        if isinstance(given, str) or not isinstance(given, Iterable):
            self.note(f"{what}={excerpt(given)} is no list of field names")
            return ()
        found = sorted(given, key=excerpt) if isinstance(given, Set) else tuple(given)
        return tuple(name for name in (self.name(what, name) for name in found) if name)

    def items(self, what: str, given: object, kind: type[T], *, made: str) -> tuple[T, ...]:
        """The items of a list that are of `kind`; `made` tells how one is made."""
        if isinstance(given, kind):
            self.note(f"{what} is one {kind.__name__.lower()}; it takes a list")
            return (given,)
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            self.note(f"{what}={excerpt(given)} is no list")
            return ()
        found = tuple(given)
        for index, item in enumerate(found):
            if not isinstance(item, kind):
                self.note(f"{what}[{index}] is {excerpt(item)}; {made}")
        return tuple(item for item in found if isinstance(item, kind))

    def mapping(self, what: str, given: object) -> Mapping[str, Any]:
        """A read-only mapping with names as keys; `None` is an empty one."""
        if given is None:
            return MappingProxyType({})
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            self.note(f"{what}={excerpt(given)} is no mapping with names as keys")
            return MappingProxyType({})
        return MappingProxyType(dict(given))

    def pairs(self, what: str, given: object) -> Mapping[str, str]:
        """A read-only mapping of field names to field names; `None` is an empty one."""
        if given is None:
            return MappingProxyType({})
        if not isinstance(given, Mapping) or not all(
            isinstance(name, str) for pair in given.items() for name in pair
        ):
            self.note(f"{what}={excerpt(given)} is no mapping of field names to field names")
            return MappingProxyType({})
        return MappingProxyType(dict(given))

    def text(self, what: str, given: object) -> str:
        """A text; what is none becomes an empty one."""
        if isinstance(given, str):
            return given
        self.note(f"{what}={excerpt(given)} is no text")
        return ""

    def flag(self, what: str, given: object) -> bool:
        """True or false; what is neither becomes false."""
        if isinstance(given, bool):
            return given
        self.note(f"{what}={excerpt(given)} is neither True nor False")
        return False

    def unknown(self, given: Mapping[str, object], *, of: Callable[..., object]) -> None:
        """Note options that a function with keyword-only options does not have."""
        known = list(inspect.getfullargspec(of).kwonlydefaults or ())
        for name in given:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {close[0]}=?" if close else ""
            self.note(f"there is no option {name}={meant}")
