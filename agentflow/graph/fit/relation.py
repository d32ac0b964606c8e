"""Relations of types: the three that there are, how those of parts add up, and what has to be known to find them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, Protocol

from agentflow.graph.fit.meaning import Choice, Instance, Meaning, Plain, Values

__all__ = ["FITS", "MAY", "NEVER", "Listed", "Relation", "Sense", "every", "some", "whole"]

Relation = Literal["fits", "may fit", "never fits"]
FITS: Final = "fits"
MAY: Final = "may fit"
NEVER: Final = "never fits"

Listed = Plain | Values | Choice


class Sense(Protocol):
    """What becomes of a value on its way: the part of a comparison that is not structure."""

    lazy: frozenset[type]
    """Classes of containers whose items are not looked at on the way."""

    def plain(self, source: type, target: type) -> Relation:
        """A number, text or date of one class where another class is wanted."""
        ...

    def value(self, value: Any, target: Listed) -> Relation:
        """One value of a `Literal` or an enum."""
        ...

    def named(self, source: type, target: Values | Choice) -> Relation:
        """Any value of a plain class where only some values are wanted."""
        ...

    def collected(self, source: type, target: type) -> Relation:
        """A container where a container of another class is wanted, whatever it holds."""
        ...

    def instance(self, source: Meaning, target: Instance) -> Relation:
        """Anything where objects of one class are wanted."""
        ...

    def object(self, source: Instance, target: Meaning) -> Relation:
        """An object of the author's where a plain value, a container or one of some values is wanted."""
        ...


def every(relations: Iterable[Relation]) -> Relation:
    """Of a value that is one of several kinds."""
    found = set(relations)
    return found.pop() if len(found) == 1 else MAY


def some(relations: Iterable[Relation]) -> Relation:
    """Of a value that may be taken in several ways."""
    found = set(relations)
    if FITS in found:
        return FITS
    return NEVER if found == {NEVER} else MAY


def whole(relations: Iterable[Relation]) -> Relation:
    """Of a value that has several parts, all of which must be taken."""
    found = set(relations)
    if NEVER in found:
        return NEVER
    return MAY if MAY in found else FITS
