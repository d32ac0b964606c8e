"""Arguments: what each must be, and the error for one that is not: what was given, where, and what to give instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentflow.graph.excerpt import excerpt

__all__ = [
    "FLAG",
    "FUNCTION",
    "LIMIT",
    "LIST",
    "MAPPING",
    "NAME",
    "TEXT",
    "WAIT",
    "Wanted",
    "check_arguments",
    "check_fields",
    "instance",
    "one_of",
    "or_none",
    "whole",
    "with_methods",
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an argument must be.

    Args:
        accepts: Tells whether a value is one.
        told: The same in words, as what to give.
        error: What is raised for another value.
    """

    accepts: Callable[[Any], bool]
    told: str
    error: type[Exception] = TypeError

    def check(self, name: str, value: object, *, of: str = "") -> None:
        """Refuse a value that is none.

        Args:
            name: The argument.
            value: What was given.
            of: Whose argument it is.
        """
        if not self.accepts(value):
            given = f"{name}={excerpt(value)}"
            raise self.error(f"{f'{of}({given})' if of else given}: give {self.told}")


def check_arguments(of: str, wanted: Mapping[str, Wanted], given: Mapping[str, object]) -> None:
    """Refuse the first argument that is not what it must be.

    Args:
        of: Whose arguments they are, for the error.
        wanted: What each must be.
        given: What each is.

    Raises:
        TypeError: One is of the wrong kind.
        ValueError: A number is out of range.
    """
    for name, kind in wanted.items():
        kind.check(name, given[name], of=of)


def check_fields(record: object, wanted: Mapping[str, Wanted]) -> None:
    """The same for the fields of a record that has been made of its arguments."""
    given = {name: getattr(record, name) for name in wanted}
    check_arguments(type(record).__name__, wanted, given)


def _is_list(value: object) -> bool:
    if isinstance(value, (list, tuple, frozenset)):
        # Nearly always; the other question goes through abstract classes, which takes long.
        return True
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TEXT: Final = Wanted(lambda value: isinstance(value, str), "a text")
NAME: Final = Wanted(lambda value: isinstance(value, str) and bool(value), "a text, not empty")
FLAG: Final = Wanted(lambda value: isinstance(value, bool), "True or False")
MAPPING: Final = Wanted(lambda value: isinstance(value, Mapping), "a mapping")
FUNCTION: Final = Wanted(callable, "a function")
LIST: Final = Wanted(_is_list, "a list")
WAIT: Final = Wanted(
    lambda value: _is_number(value) and 0 <= value < math.inf, "seconds, of at least 0", ValueError
)
LIMIT: Final = Wanted(
    lambda value: _is_number(value) and 0 < value < math.inf, "seconds above 0", ValueError
)


def or_none(wanted: Wanted) -> Wanted:
    """The same, or `None`."""
    accepts = wanted.accepts
    return Wanted(
        lambda value: value is None or accepts(value), f"{wanted.told}, or None", wanted.error
    )


def whole(least: int) -> Wanted:
    """A whole number of at least so much."""
    return Wanted(
        lambda value: _is_number(value) and isinstance(value, int) and value >= least,
        f"a whole number of at least {least}",
        ValueError,
    )


def one_of(*values: str) -> Wanted:
    """One of these texts."""
    told = ", ".join(map(repr, values[:-1]))
    return Wanted(
        lambda value: isinstance(value, str) and value in values,
        f"{told} or {values[-1]!r}",
        ValueError,
    )


def instance(kind: type | tuple[type, ...], told: str) -> Wanted:
    """An object of a class."""
    return Wanted(lambda value: isinstance(value, kind), told)


def with_methods(told: str, *names: str) -> Wanted:
    """An object that has these methods."""
    return Wanted(lambda value: all(callable(getattr(value, name, None)) for name in names), told)
