"""Types with values of theirs, for tests that compare what is said of types with what becomes of values."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict, Union

from annotated_types import Ge
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

__all__ = ["Typed", "typed", "wanted"]


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Number(enum.IntEnum):
    ONE = 1
    SEVEN = 7


class Word(enum.StrEnum):
    RED = "red"
    ONE = "1"


class Point(TypedDict):
    x: int
    y: NotRequired[str]


class Named(TypedDict):
    x: str
    name: str


class Loose(TypedDict, total=False):
    x: list[str]
    y: int


@dataclass
class Card:
    number: int
    text: str = ""


class Person(BaseModel):
    name: str


class Employee(Person):
    pay: float = 0.0


class Thing:
    """A class that pydantic does not know."""


class Hostile(type):
    """A class of classes that refuses every question."""

    def __subclasscheck__(cls, other: type) -> bool:
        raise RuntimeError("no")

    def __instancecheck__(cls, other: object) -> bool:
        sys.exit("no")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("no")

    def __hash__(cls) -> int:
        raise RuntimeError("no")

    def __getattr__(cls, name: str) -> Any:
        raise RuntimeError("no")


class Strange(metaclass=Hostile): ...


UserId = NewType("UserId", int)


@dataclasses.dataclass(frozen=True)
class Typed:
    """A type, and a strategy for values that may be of it."""

    hint: Any
    values: st.SearchStrategy[Any]


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)


_TEXTS = st.sampled_from(["", "a", "1", "true", "1.5", "red", "2020-01-01", "12:00", "P1D"])
_NUMBERS = st.one_of(
    st.integers(-3, 3), st.integers(), st.sampled_from([10**30, 10**400, -(10**18)])
)
_DAYS = st.dates()
_SCALARS = [
    Typed(None, st.none()),
    Typed(bool, st.booleans()),
    Typed(int, _NUMBERS),
    Typed(float, st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 2.5]))),
    Typed(decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    Typed(str, st.one_of(_TEXTS, st.text())),
    Typed(bytes, st.one_of(_TEXTS.map(str.encode), st.binary())),
    Typed(datetime.date, _DAYS),
    Typed(datetime.datetime, st.one_of(st.datetimes(), _DAYS.map(_midnight))),
    Typed(datetime.time, st.times()),
    Typed(datetime.timedelta, st.timedeltas()),
    Typed(uuid.UUID, st.uuids()),
    Typed(pathlib.PurePosixPath, st.sampled_from(["a", "a/b"]).map(pathlib.PurePosixPath)),
    Typed(Colour, st.sampled_from(Colour)),
    Typed(Number, st.sampled_from(Number)),
    Typed(Word, st.sampled_from(Word)),
    Typed(Literal["red", "a"], st.sampled_from(["red", "a"])),
    Typed(Literal[1, True], st.sampled_from([1, True])),
    Typed(Literal["1", 7, None], st.sampled_from(["1", 7, None])),
    Typed(Literal[Colour.RED, b"a"], st.sampled_from([Colour.RED, b"a"])),
    Typed(Literal[Word.RED, Number.SEVEN], st.sampled_from([Word.RED, Number.SEVEN])),
    Typed(UserId, _NUMBERS),
    Typed(Annotated[int, Ge(0)], st.integers(0, 5)),
    Typed(Annotated[str, Field(min_length=2)], st.sampled_from(["ab", "red"])),
    Typed(Annotated[str, "a remark"], _TEXTS),
    Typed(Annotated[int, BeforeValidator(len)], st.sampled_from(["", "ab"])),
    Typed(Annotated[int, AfterValidator(str)], st.integers(0, 5)),
]
_RECORDS = [
    Typed(Point, st.fixed_dictionaries({"x": st.integers()}, optional={"y": _TEXTS})),
    Typed(Named, st.fixed_dictionaries({"x": _TEXTS, "name": _TEXTS})),
    Typed(
        Loose,
        st.fixed_dictionaries({}, optional={"x": st.lists(_TEXTS, max_size=2), "y": _NUMBERS}),
    ),
    Typed(Card, st.builds(Card, st.integers(), _TEXTS)),
    Typed(Person, st.one_of(st.builds(Person, name=_TEXTS), st.builds(Employee, name=_TEXTS))),
    Typed(Employee, st.builds(Employee, name=_TEXTS)),
    Typed(Thing, st.builds(Thing)),
    Typed(Any, st.one_of(_TEXTS, st.integers(), st.none(), st.lists(_TEXTS, max_size=2))),
]
_HASHABLE = [one for one in _SCALARS if one.hint not in (float, decimal.Decimal)]


def _made(form: Any, *arguments: Any) -> Any:
    return form[arguments if len(arguments) > 1 else arguments[0]]


def _of_one(inner: Typed) -> st.SearchStrategy[Typed]:
    """A type that is made of one other."""
    hint, values = inner.hint, inner.values
    few = st.lists(values, max_size=2)
    return st.sampled_from(
        [
            Typed(_made(list, hint), few),
            Typed(_made(tuple, hint, ...), few.map(tuple)),
            Typed(_made(tuple, hint), st.tuples(values)),
            Typed(_made(tuple, hint, int), st.tuples(values, st.integers())),
            Typed(_made(collections.deque, hint), few.map(collections.deque)),
            Typed(_made(Sequence, hint), st.one_of(few, few.map(tuple))),
            Typed(_made(dict, str, hint), st.dictionaries(_TEXTS, values, max_size=2)),
            Typed(_made(Mapping, str, hint), st.dictionaries(_TEXTS, values, max_size=2)),
            Typed(_made(Union, hint, None), st.one_of(st.none(), values)),
            Typed(_made(Annotated, _made(list, hint), "a remark"), few),
        ]
    )


def _of_two(one: Typed, two: Typed) -> Typed:
    return Typed(_made(Union, one.hint, two.hint), st.one_of(one.values, two.values))


def _of_keys(inner: Typed) -> st.SearchStrategy[Typed]:
    hint, values = inner.hint, inner.values
    some = st.lists(values, max_size=2)
    return st.sampled_from(
        [
            Typed(_made(set, hint), some.map(set)),
            Typed(_made(frozenset, hint), some.map(frozenset)),
            Typed(_made(dict, hint, int), st.dictionaries(values, st.integers(), max_size=2)),
        ]
    )


typed: st.SearchStrategy[Typed] = st.recursive(
    st.one_of(
        st.sampled_from(_SCALARS),
        st.sampled_from(_RECORDS),
        st.sampled_from(_HASHABLE).flatmap(_of_keys),
    ),
    lambda inner: st.one_of(inner.flatmap(_of_one), st.builds(_of_two, inner, inner)),
    max_leaves=4,
)
"""Types of every kind, each with values that may be of it."""

wanted: st.SearchStrategy[Any] = typed.map(lambda one: one.hint)
"""Types alone."""
