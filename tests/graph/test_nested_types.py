"""The fingerprint knows what is in the classes that fields are made of, not only what they are called."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar, cast

import pydantic
import pytest
import typing_extensions

from agentflow import Reducer, Workflow, define_workflow, node, route
from agentflow.graph.nested_types import nested_types

T = TypeVar("T")
Fields = dict[str, Any]

# Made in these tests, of what only the tests know.
_typed_dict: Any = typing_extensions.TypedDict
_named_tuple: Any = NamedTuple
_new_type: Any = NewType
_alias: Any = typing_extensions.TypeAliasType
_list, _dict, _tuple, _annotated = (cast(Any, each) for each in (list, dict, tuple, Annotated))


def model(fields: Fields) -> Any:
    given: Fields = {name: (hint, ...) for name, hint in fields.items()}
    return pydantic.create_model("Thing", **given)


def record(fields: Fields) -> Any:
    return dataclasses.make_dataclass("Thing", fields.items())


def typed_dict(fields: Fields) -> Any:
    return _typed_dict("Thing", fields)


def named_tuple(fields: Fields) -> Any:
    return _named_tuple("Thing", [*fields.items()])


KINDS: list[Callable[[Fields], Any]] = [model, record, typed_dict, named_tuple]
PLACES: dict[str, Callable[[Any], Any]] = {
    "the field itself": lambda kind: kind,
    "items of a list": lambda kind: _list[kind],
    "one of a union": lambda kind: kind | None,
    "values of a mapping, annotated": lambda kind: _annotated[_dict[str, kind], "said"],
    "a field of another class": lambda kind: record({"inner": _tuple[kind, ...]}),
    "a new type": lambda kind: _new_type("New", kind),
    "an alias": lambda kind: _alias("Alias", _list[kind]),
}


def holding(hint: Any, **options: Any) -> Workflow[Any]:
    """A workflow with a field of that type."""

    @node(requires=["x"], routes=[route.deliver("x")])
    async def only(state: Any) -> None: ...

    state = _typed_dict("State", {"x": hint})
    return define_workflow("w", nodes=[only], state=state, **options)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_changed_class_changes_the_fingerprint_wherever_it_stands(
    kind: Callable[[Fields], Any], place: Callable[[Any], Any]
) -> None:
    versions: list[Fields] = [
        {"a": int},
        {"b": int},
        {"a": str},
        {"a": int, "b": int},
        {"a": Literal[1, 2]},
        {"a": Annotated[int, pydantic.Field(gt=0)]},
    ]
    found = [holding(place(kind(fields))).fingerprint for fields in (*versions, {"a": int})]
    assert len(set(found)) == len(versions)
    assert found[-1] == found[0]


def test_a_changed_enum_changes_the_fingerprint() -> None:
    members: list[Fields] = [{"A": 1}, {"A": 2}, {"A": 1, "B": 2}, {"A": "1"}]
    make: Any = enum.Enum
    found = {holding(make("Level", each)).fingerprint for each in members}
    assert len(found) == len(members)


def test_whether_a_field_must_be_given_is_in_the_fingerprint() -> None:
    must = typed_dict({"a": int})
    may = typed_dict({"a": NotRequired[int]})
    default = dataclasses.make_dataclass("Thing", [("a", int, 1)])
    assert holding(must).fingerprint != holding(may).fingerprint
    assert holding(record({"a": int})).fingerprint != holding(default).fingerprint


def test_the_types_of_results_deltas_and_sub_workflows_are_known_too() -> None:
    from agentflow import subflow

    def outer(kind: Any) -> Workflow[Any]:
        inner = subflow(
            "sub", holding(kind), inputs={"x": "x"}, outputs={"y": "x"}, routes=[route.deliver("y")]
        )
        return define_workflow("outer", nodes=[inner], inputs=["x"])

    def joined(kind: Any) -> Workflow[Any]:
        return holding(_annotated[Any, Reducer(kind, lambda current, delta: delta, "last")])

    old, new = record({"a": int}), record({"a": str})
    for made in (outer, joined, lambda kind: holding(Any, result=kind)):
        assert made(old).fingerprint != made(new).fingerprint
        assert made(old).fingerprint == made(record({"a": int})).fingerprint


class Tree(typing_extensions.TypedDict):
    children: list[Tree]


class Box(typing_extensions.TypedDict, Generic[T]):
    item: T
    boxes: list[Box[T]]


def test_classes_that_hold_themselves_are_told_once() -> None:
    assert [kind for kind, _ in nested_types([Tree])] == [Tree]
    assert [kind for kind, _ in nested_types([Box[int], Box[str]])] == [Box[int], Box[str]]
    assert holding(Box[int]).fingerprint != holding(Box[str]).fingerprint


def test_the_manifest_tells_what_is_in_the_types() -> None:
    class Level(enum.Enum):
        LOW = 1

    manifest = holding(record({"level": Level, "more": int})).manifest()
    (thing, level) = manifest["types"]
    assert thing["type"].endswith(":Thing")
    assert [(each["name"], each["required"]) for each in thing["members"]] == [
        ("level", True),
        ("more", True),
    ]
    assert level["members"] == [{"name": "LOW", "type": None, "required": True, "value": "1"}]
    assert json.loads(json.dumps(manifest)) == manifest
    assert holding(int).manifest()["types"] == []


class Strange(type):
    """Raises whatever it is asked."""

    def __getattribute__(cls, name: str) -> Any:
        if name.startswith("__pydantic") or name in ("_fields", "__dataclass_fields__"):
            raise OSError(name)
        return super().__getattribute__(name)


def test_a_class_that_cannot_be_read_is_told_by_its_name() -> None:
    class Odd(metaclass=Strange):
        pass

    @dataclasses.dataclass
    class Late:
        a: Unknown  # type: ignore[name-defined] # noqa: F821 - this is what is shown

    assert nested_types([Odd, list[Odd], Late])[0][0] is Late
    assert nested_types([1, "x", {}, None, ..., [Odd, [Late]]])[0][0] is Late
