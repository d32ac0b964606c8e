"""Meanings: what kind of values an annotation stands for, in the few words that a comparison needs."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Anything",
    "Callables",
    "Choice",
    "Either",
    "Instance",
    "Keyed",
    "Many",
    "Meaning",
    "Narrowed",
    "Plain",
    "Record",
    "Row",
    "Unknown",
    "Values",
]


@dataclass(frozen=True, slots=True)
class Anything:
    """Every value there is."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Values of which nothing can be told."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values that are listed: a `Literal`, or `None`."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The members of an enum."""

    kind: type[enum.Enum]


@dataclass(frozen=True, slots=True)
class Plain:
    """A number, a text, a date: one of the classes of the standard library that hold no others."""

    kind: type


@dataclass(frozen=True, slots=True)
class Many:
    """A container of any number of items, by its class, which may be abstract."""

    kind: type
    item: Any = Any


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple with a type for each place."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Keyed:
    """A mapping, by its class, which may be abstract."""

    kind: type
    key: Any = Any
    value: Any = Any


@dataclass(frozen=True, slots=True)
class Record:
    """A dict with fields: a TypedDict."""

    source: Any


@dataclass(frozen=True, slots=True)
class Instance:
    """Objects of a class of the author's: a pydantic model, a dataclass, or any other."""

    kind: type


@dataclass(frozen=True, slots=True)
class Callables:
    """Whatever can be called, classes among them."""


@dataclass(frozen=True, slots=True)
class Either:
    """A union."""

    members: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Some of the values of another type: those that keep a constraint."""

    inner: Any


Meaning = (
    Anything
    | Unknown
    | Values
    | Choice
    | Plain
    | Many
    | Row
    | Keyed
    | Record
    | Instance
    | Callables
    | Either
    | Narrowed
)
