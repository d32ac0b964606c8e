"""TypedDicts as state schemas: which fields there are, which must be given, what they may hold."""

from __future__ import annotations

import typing
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NotRequired, Required, TypedDict, TypeVar

import pytest
import typing_extensions as te
from pydantic import ConfigDict, Field, ValidationError

from agentflow import append
from agentflow.graph.schema import Schema, schema_of

T = TypeVar("T")


class Plain(TypedDict):
    a: int
    b: NotRequired[str]


class Loose(TypedDict, total=False):
    a: int
    b: Required[str]


class Child(Loose):
    c: int


class Grandchild(Child, total=False):
    d: int
    e: Required[int]


class Extended(te.TypedDict):
    a: int
    b: te.NotRequired[str]
    c: te.ReadOnly[int]
    d: te.Required[te.ReadOnly[int]]


class Wrapped(TypedDict):
    a: NotRequired[Annotated[list[str], append]]
    b: Annotated[NotRequired[int], Field(gt=0)]
    c: Annotated[Required[int], "a note"]


class Empty(TypedDict):
    pass


class Address(TypedDict):
    street: str
    number: NotRequired[int]


class Person(TypedDict):
    name: str
    home: Address
    others: NotRequired[dict[str, list[Address | None]]]
    pair: NotRequired[tuple[Address, int]]
    either: NotRequired[typing.Union[Address, int]]  # noqa: UP007 - the old form is meant


class Tree(TypedDict):
    name: str
    children: NotRequired[list[Tree]]


class Forest(TypedDict):
    tree: Tree


class Ping(TypedDict):
    pong: NotRequired[Pong]


class Pong(TypedDict):
    ping: NotRequired[Ping]


class Match(TypedDict):
    ping: Ping


class Shelf(TypedDict, Generic[T]):
    item: T
    more: NotRequired[list[T]]


class Room(TypedDict):
    shelf: Shelf[int]


class Wire:
    """A class that pydantic does not know."""


class Cable(TypedDict):
    wire: Wire


class Machine(TypedDict):
    wire: Wire
    wires: NotRequired[list[Wire]]
    cable: NotRequired[Cable]
    cables: NotRequired[dict[str, Cable]]
    wire_type: NotRequired[type[Wire]]


class Strict(TypedDict):
    __pydantic_config__ = ConfigDict(strict=True, str_strip_whitespace=True)  # type: ignore[misc]
    number: int
    text: NotRequired[str]


class Constrained(TypedDict):
    score: Annotated[float, Field(ge=0, le=1)]
    noted: Annotated[int, {"unhashable": "note"}]
    kind: Literal["a", "b"]


def fields_of(source: Any) -> dict[str, bool]:
    """Each field, and whether it must be given; the schema has no problems."""
    schema = schema_of(source)
    assert schema.problems == ()
    return {name: spec.required for name, spec in schema.fields.items()}


def accepted(source: Any, name: str, value: Any) -> Any:
    return schema_of(source).fields[name].value.accept(value)


def refused(source: Any, name: str, value: Any) -> bool:
    with pytest.raises(ValidationError):
        accepted(source, name, value)
    return True


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        (Plain, {"a": True, "b": False}),
        (Loose, {"a": False, "b": True}),
        (Child, {"a": False, "b": True, "c": True}),
        (Grandchild, {"a": False, "b": True, "c": True, "d": False, "e": True}),
        (Extended, {"a": True, "b": False, "c": True, "d": True}),
        (Wrapped, {"a": False, "b": False, "c": True}),
        (Empty, {}),
    ],
)
def test_presence_comes_from_the_resolved_hints(source: Any, fields: dict[str, bool]) -> None:
    # This module postpones its annotations, so `__required_keys__` knows of no qualifier.
    assert fields_of(source) == fields


def test_an_untyped_state_has_every_field() -> None:
    schema = schema_of(None)
    assert (schema.typed, schema.fields, schema.required()) == (False, {}, ())
    assert schema.field("anything").value.accept([1]) == [1]


def test_qualifiers_and_reducers_are_no_part_of_the_type() -> None:
    fields = schema_of(Wrapped).fields
    assert fields["a"].annotation == list[str]
    assert fields["a"].reducer is append
    assert fields["c"].annotation == Annotated[int, "a note"]
    assert fields["c"].reducer is None


def test_a_value_is_validated_and_frozen() -> None:
    assert accepted(Plain, "a", "3") == 3
    assert refused(Plain, "a", "x")
    with pytest.raises(TypeError, match="read-only"):
        accepted(Wrapped, "a", ["x"]).append("y")


def test_constraints_in_annotations_hold() -> None:
    assert accepted(Constrained, "score", 0.5) == 0.5
    assert refused(Constrained, "score", 2.0)
    assert refused(Wrapped, "b", 0)
    assert accepted(Constrained, "noted", 3) == 3
    assert refused(Constrained, "kind", "c")


def test_only_a_field_that_says_nothing_but_its_type_is_taken_by_its_type() -> None:
    exact = {name: spec.value.exact for name, spec in schema_of(Constrained).fields.items()}
    assert exact == {"score": None, "noted": None, "kind": None}
    assert schema_of(Plain).fields["a"].value.exact is int
    assert schema_of(Strict).fields["number"].value.exact is None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("home", {"street": "x"}, {"number": 1}),
        ("others", {"a": [None, {"street": "x", "number": "3"}]}, {"a": [{"number": 1}]}),
        ("pair", ({"street": "x"}, 1), ({}, 1)),
        ("either", 1, {"number": 1}),
    ],
)
def test_typed_dicts_are_accepted_however_deep(name: str, good: Any, bad: Any) -> None:
    assert fields_of(Person)[name] is (name == "home")
    accepted(Person, name, good)
    assert refused(Person, name, bad)


def test_nested_values_are_converted_like_any_other() -> None:
    assert accepted(Person, "home", {"street": "x", "number": "3"}) == {"street": "x", "number": 3}


def test_recursive_typed_dicts_are_accepted() -> None:
    good = {"name": "a", "children": [{"name": "b", "children": []}]}
    assert accepted(Forest, "tree", good) == good
    assert refused(Forest, "tree", {"name": "a", "children": [{"children": []}]})
    assert accepted(Match, "ping", {"pong": {"ping": {}}}) == {"pong": {"ping": {}}}
    assert refused(Match, "ping", {"pong": {"ping": 3}})
    assert fields_of(Tree) == {"name": True, "children": False}


def test_generic_typed_dicts_are_filled_in() -> None:
    assert accepted(Room, "shelf", {"item": "3", "more": ["4"]}) == {"item": 3, "more": [4]}
    assert refused(Room, "shelf", {"item": "x"})
    assert fields_of(Shelf[int]) == {"item": True, "more": False}
    assert accepted(Shelf[int], "more", ["3"]) == [3]
    assert accepted(Shelf[list[int]], "more", [["3"]]) == [[3]]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("wire", Wire(), 1),
        ("wires", [Wire()], [1]),
        ("cable", {"wire": Wire()}, {"wire": 1}),
        ("cables", {"a": {"wire": Wire()}}, {"a": {"wire": 1}}),
        ("wire_type", Wire, int),
    ],
)
def test_a_class_that_pydantic_does_not_know_is_checked_by_isinstance(
    name: str, good: Any, bad: Any
) -> None:
    assert fields_of(Machine)[name] is (name == "wire")
    accepted(Machine, name, good)
    assert refused(Machine, name, bad)


def test_the_config_of_a_typed_dict_holds_for_its_fields() -> None:
    assert refused(Strict, "number", "3")
    assert accepted(Strict, "text", "  x ") == "x"


def test_only_what_a_type_can_tell_needs_no_validation() -> None:
    class Numbers(TypedDict):
        whole: int
        exact: Decimal
        flag: bool
        name: str

    Numbers.__annotations__ = {"whole": int, "exact": Decimal, "flag": bool, "name": str}
    exact = {name: spec.value.exact for name, spec in schema_of(Numbers).fields.items()}
    assert exact == {"whole": int, "exact": None, "flag": bool, "name": str}


# --- what cannot be used -----------------------------------------------------------------------


class Dangling(TypedDict):
    a: Nowhere  # type: ignore[name-defined] # noqa: F821 - it is not there on purpose


class Senseless(TypedDict):
    good: int
    number: 5  # type: ignore[valid-type]
    function: len  # type: ignore[valid-type]
    mine: _a_function  # type: ignore[valid-type]


def _a_function(value: int) -> int:
    return value


def problems_of(source: Any) -> list[tuple[str | None, str]]:
    return [(problem.field, problem.message) for problem in schema_of(source).problems]


def test_hints_that_cannot_be_resolved_are_a_problem_of_the_whole() -> None:
    assert problems_of(Dangling) == [
        (None, "its fields cannot be read: NameError: name 'Nowhere' is not defined")
    ]


def test_a_hint_that_is_no_type_is_a_problem_of_its_field() -> None:
    schema: Schema = schema_of(Senseless)
    assert [problem.field for problem in schema.problems] == ["number", "function", "mine"]
    assert all("no validator can be made for" in problem.message for problem in schema.problems)
    assert schema.fields["good"].value.accept(1) == 1


@pytest.mark.parametrize("source", [5, "State", dict, int, [], {"a": int}, Plain(a=1), object()])
def test_what_is_no_schema_is_a_problem(source: Any) -> None:
    ((field, message),) = problems_of(source)
    assert field is None
    assert message.endswith("is no TypedDict, pydantic model class or dataclass")
