"""Whether values of one type are taken where another is wanted: compared with what becomes of the values themselves."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    NoReturn,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import pytest
from annotated_types import Gt
from hypothesis import assume, given, strategies as st
from pydantic import BaseModel, BeforeValidator, Field, RootModel, model_validator
from typing_extensions import TypeAliasType

from agentflow.graph.contract import Contract
from agentflow.graph.fit import Relation, filled, reading, relation
from agentflow.graph.typeddict import is_typeddict, presence
from tests.graph.typed_values import (
    Card,
    Colour,
    Employee,
    Loose,
    Named,
    Number,
    Person,
    Point,
    Strange,
    Thing,
    Typed,
    Word,
    typed,
    wanted,
)

# --- compared with values ----------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def contract_of(hint: Any) -> Contract:
    return Contract(hint)


def takes(contract: Contract, value: Any) -> bool:
    try:
        contract.validate(value)
    except Exception:
        return False
    return True


def valid(source: Typed, data: st.DataObject) -> list[Any]:
    """Some values that a field of the type may hold."""
    contract = contract_of(source.hint)
    drawn = [data.draw(source.values) for _ in range(3)]
    return [contract.validate(value) for value in drawn if takes(contract, value)]


@pytest.mark.proof
@given(typed, wanted, st.data())
def test_what_never_fits_is_always_refused_and_what_fits_is_always_taken(
    source: Typed, target: Any, data: st.DataObject
) -> None:
    said = relation(source.hint, target)
    assume(said != "may fit")
    contract = contract_of(target)
    for value in valid(source, data):
        assert takes(contract, value) == (said == "fits")


@pytest.mark.proof
@given(typed, wanted, st.data())
def test_what_never_fits_when_it_is_filled_is_refused_unless_it_is_empty(
    source: Typed, target: Any, data: st.DataObject
) -> None:
    assume(filled(source.hint, target) == "never fits")
    contract = contract_of(target)
    for value in valid(source, data):
        assert not takes(contract, value) or not is_filled(value)


@pytest.mark.proof
@given(typed, wanted, st.data())
def test_what_is_read_unchanged_is_of_the_type_or_is_not(
    source: Typed, target: Any, data: st.DataObject
) -> None:
    said = reading(source.hint, target)
    assume(said != "may fit")
    for value in filter(is_filled, valid(source, data)):
        assert holds(value, target) == (said == "fits")


def is_filled(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(map(is_filled, value.values()))
    if isinstance(value, list | tuple | set | frozenset | collections.deque):
        return bool(value) and all(map(is_filled, value))
    return True


def holds(value: Any, hint: Any) -> bool:
    """Whether a value is one of a type, as it is."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or origin is Annotated or isinstance(hint, NewType):
        return hint is Any or holds(value, args[0] if args else hint.__supertype__)
    if origin in (Union, types.UnionType):
        return any(holds(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if is_typeddict(hint):
        return isinstance(value, dict) and all(
            holds(value[name], inner) if name in value else not required
            for name, inner, required in presence(hint)
        )
    if origin is None:
        return isinstance(
            value, type(None) if hint is None else (float, int) if hint is float else hint
        )
    if not isinstance(value, origin):
        return False
    if isinstance(value, Mapping):
        return all(holds(key, args[0]) and holds(item, args[1]) for key, item in value.items())
    if origin is tuple and args[-1] is not ...:
        return len(value) == len(args) and all(map(holds, value, args))
    return all(holds(item, args[0]) for item in value)


# --- examples ----------------------------------------------------------------------------------

UserId = NewType("UserId", int)
T = TypeVar("T")
Names = TypeAliasType("Names", list[str])
Tree = TypeAliasType("Tree", "dict[str, Tree] | int")
Forest = TypeAliasType("Forest", "dict[str, Forest] | str")


class Tall(BaseModel):
    height: int

    @model_validator(mode="before")
    @classmethod
    def read(cls, value: Any) -> Any:
        return {"height": len(value)} if isinstance(value, str) else value


class Lenient(enum.Enum):
    YES = "yes"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.YES


class Other(TypedDict):
    x: int
    y: NotRequired[list[str]]


class Far(TypedDict):
    x: int
    z: int


class Branch(TypedDict):
    name: str
    below: list[Branch]


class Twig(TypedDict):
    name: int
    below: list[Twig]


class Strings(TypedDict):
    __pydantic_config__ = {"coerce_numbers_to_str": True}  # type: ignore[misc] # noqa: RUF012
    x: str


@dataclass
class Caller:
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (str, str, "fits"),
        (str, int, "may fit"),
        (int, str, "never fits"),
        (bool, int, "fits"),
        (int, bool, "may fit"),
        (int, float, "may fit"),
        (float, Decimal, "may fit"),
        (int, datetime.datetime, "may fit"),
        (datetime.date, int, "never fits"),
        (datetime.date, datetime.datetime, "may fit"),
        (tuple[int, ...], Decimal, "may fit"),
        (float, Literal[1], "may fit"),
        (datetime.timedelta, Annotated[int, BeforeValidator(len)] | datetime.timedelta, "may fit"),
        (list[None], Any | set[Annotated[int, BeforeValidator(len)]], "may fit"),
        (
            list[int],
            list[int] | dict[str, tuple[Annotated[int, BeforeValidator(len)], int]],
            "may fit",
        ),
        (Branch, Any | Branch, "fits"),
        (datetime.time, datetime.date, "never fits"),
        (None, str, "never fits"),
        (str, None, "never fits"),
        (type(None), Optional[str], "fits"),  # noqa: UP045 - both spellings
        (str | None, str, "may fit"),
        (str, str | None, "fits"),
        (int | None, str | bytes, "never fits"),
        (Optional[str], Union[None, str], "fits"),  # noqa: UP007, UP045 - both spellings
        (Literal["a", "b"], str, "fits"),
        (Literal["a", "b"], Literal["b", "a", 1], "fits"),
        (Literal["a", "b"], Literal["b"], "may fit"),
        (Literal["a"], Literal["b"], "never fits"),
        (str, Literal[1], "never fits"),
        (str, Literal["a"], "may fit"),
        (Literal[1, 2], Number, "may fit"),
        (Literal["blue"], Colour, "never fits"),
        (Literal["blue"], Lenient, "may fit"),
        (str, Colour, "may fit"),
        (datetime.date, Colour, "never fits"),
        (Colour, Colour, "fits"),
        (Colour, Number, "never fits"),
        (Word, str, "fits"),
        (list[int], list[str], "may fit"),
        (list[str], tuple[str, ...], "fits"),
        (list[str], list[Any], "fits"),
        (list[str], list, "fits"),
        (list[str], Sequence[str], "fits"),
        (set[str], Sequence[str], "never fits"),
        (list[str], Iterable[int], "may fit"),
        (tuple[int], Iterable[bytes], "may fit"),
        (list[str], set[str], "fits"),
        (list[list[str]], set[Any], "may fit"),
        (list[str], str, "never fits"),
        (str, list[str], "never fits"),
        (Sequence[int], list[int], "may fit"),
        (tuple[int, str], tuple[int, str], "fits"),
        (tuple[int, str], tuple[int], "never fits"),
        (tuple[int, str], list[str], "never fits"),
        (tuple[int, ...], tuple[str, str], "never fits"),
        (tuple[()], list[str], "fits"),
        (dict[str, int], dict[str, str], "may fit"),
        (dict[str, int], Mapping[str, int], "fits"),
        (dict[str, int], list[str], "never fits"),
        (Point, Point, "fits"),
        (Named, Point, "may fit"),
        (Point, Other, "may fit"),
        (Point, Far, "never fits"),
        (Loose, dict[str, int], "may fit"),
        (Point, Named, "never fits"),
        (Point, dict[str, Any], "fits"),
        (Point, dict[str, str], "never fits"),
        (dict[str, int], Point, "may fit"),
        (dict[str, list[int]], Point, "never fits"),
        (str, Point, "never fits"),
        (Point, Strings, "may fit"),
        (Employee, Person, "fits"),
        (Person, Employee, "may fit"),
        (Person, Card, "never fits"),
        (str, Person, "never fits"),
        (str, Tall, "may fit"),
        (dict[str, Any], Person, "may fit"),
        (dict[str, Any], Thing, "never fits"),
        (Person, dict[str, Any], "never fits"),
        (Person, str, "never fits"),
        (list[int], RootModel[list[int]], "may fit"),
        (Annotated[int, Gt(0)], int, "fits"),
        (int, Annotated[int, Gt(0)], "may fit"),
        (None, Annotated[int, Field(gt=0)], "never fits"),
        (int, Annotated[str, Field(coerce_numbers_to_str=True)], "may fit"),
        (None, Annotated[str, BeforeValidator(str)], "may fit"),
        (UserId, int, "fits"),
        (UserId, bytes, "never fits"),
        (Names, list[str], "fits"),
        (str, Names, "never fits"),
        (Tree, Forest, "may fit"),
        (Branch, Twig, "may fit"),
        (Caller, Callable[[], None], "may fit"),
        (int, Callable[..., Any], "never fits"),
        (str, type[int], "never fits"),
        (Any, int, "may fit"),
        (int, Any, "fits"),
        (object, int, "may fit"),
        (int, object, "fits"),
        (T, int, "may fit"),
        (int, list[T], "never fits"),  # type: ignore[valid-type]
        (NoReturn, int, "may fit"),
        ("nowhere", int, "may fit"),
        (5, int, "may fit"),
    ],
)
def test_the_relation_of_two_types(source: Any, target: Any, said: Relation) -> None:
    assert relation(source, target) == said


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (str, int, "never fits"),
        (bool, int, "fits"),
        (int, float, "fits"),
        (float, int, "never fits"),
        (datetime.datetime, datetime.date, "fits"),
        (Word, str, "fits"),
        (str, Word, "may fit"),
        (str, Colour, "never fits"),
        (Literal["red"], Literal["red", "blue"], "fits"),
        (Literal["red"], Colour, "never fits"),
        (list[int], list[str], "never fits"),
        (list[str], tuple[str, ...], "never fits"),
        (list[str], Sequence[str], "fits"),
        (dict[str, Any], Person, "never fits"),
        (Point, dict[str, Any], "fits"),
        (Employee, Person, "fits"),
        (Person, Employee, "may fit"),
        (Person, Iterable[Any], "may fit"),
        (Any, Person, "may fit"),
        (Person | None, Person, "may fit"),
    ],
)
def test_what_a_reader_may_take_values_for(source: Any, target: Any, said: Relation) -> None:
    assert reading(source, target) == said


def test_of_a_container_that_may_be_empty_only_the_filled_ones_are_refused() -> None:
    assert (relation(list[int], list[str]), filled(list[int], list[str])) == (
        "may fit",
        "never fits",
    )
    assert filled(list[int], list[float]) == "may fit"
    assert filled(str, int) == "may fit"


@pytest.mark.parametrize(
    "other", [int, str | None, list[int], Colour, Point, Person, Any, Literal["a"]]
)
def test_types_that_refuse_every_question_may_fit(other: Any) -> None:
    for ask in (relation, filled, reading):
        assert ask(Strange, other) == ("fits" if other is Any else "may fit")
        assert ask(other, Strange) == "may fit"
        assert ask(list[Strange], other) in ("fits", "may fit", "never fits")
