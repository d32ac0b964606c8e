"""Reducers: how an update is joined with what a field holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from agentflow import Reducer, add, append, merge, union
from agentflow.graph.frozen import FrozenDict, FrozenList, FrozenSet, GrowingList, freeze
from agentflow.graph.schema import FieldSpec, schema_of


class Tally:
    """A value that can be changed in place."""

    def __init__(self, count: int = 0) -> None:
        self.count = count


def _counted(current: Tally | None, delta: int) -> Tally:
    tally = current or Tally()
    tally.count += delta
    return tally


def _largest(current: int | None, delta: int) -> int:
    return delta if current is None else max(current, delta)


class State(TypedDict):
    items: Annotated[list[int], append]
    boxes: Annotated[list[Tally], append]
    total: Annotated[int, add]
    text: Annotated[str, add]
    table: Annotated[dict[str, int], merge]
    members: Annotated[set[int], union]
    largest: Annotated[int, Reducer(None, _largest)]
    tally: Annotated[Tally, Reducer(int, _counted, "counted")]
    bounded: Annotated[int, Reducer(None, lambda current, delta: (current or 0) + delta)]


def spec(name: str) -> FieldSpec:
    schema = schema_of(State)
    assert schema.problems == ()
    return schema.fields[name]


def joined(name: str, *deltas: Any) -> Any:
    """What the field holds after a run has returned each of the deltas."""
    field, value = spec(name), None
    for delta in deltas:
        value = field.joined(value, field.delta.accept(delta))
    return value


@pytest.mark.parametrize(
    ("name", "deltas", "value"),
    [
        ("items", [[1], [], [2, 3]], [1, 2, 3]),
        ("items", [[]], []),
        ("total", [1, 2, 3], 6),
        ("text", ["a", "b"], "ab"),
        ("table", [{"a": 1}, {"b": 2}, {"a": 3}], {"a": 3, "b": 2}),
        ("members", [{1}, {1, 2}], {1, 2}),
        ("largest", [3, 9, 4], 9),
    ],
)
def test_a_reducer_joins_what_nodes_return(name: str, deltas: list[Any], value: Any) -> None:
    assert joined(name, *deltas) == value


@pytest.mark.parametrize(
    ("name", "kind"),
    [("items", FrozenList), ("table", FrozenDict), ("members", FrozenSet)],
)
def test_what_a_reducer_made_is_frozen(name: str, kind: type) -> None:
    empty: dict[str, Any] = {"items": [], "table": {}, "members": set()}
    assert isinstance(joined(name, empty[name]), kind)


@pytest.mark.parametrize(
    ("name", "bad"), [("items", ["x"]), ("items", 1), ("total", "x"), ("table", {"a": "x"})]
)
def test_a_delta_is_validated_by_the_type_of_the_field(name: str, bad: Any) -> None:
    with pytest.raises(ValidationError):
        spec(name).delta.accept(bad)


def test_a_delta_may_have_a_type_of_its_own() -> None:
    field = spec("tally")
    assert field.delta.annotation is int
    assert field.value.annotation is Tally
    with pytest.raises(ValidationError):
        field.delta.accept("x")


def test_what_a_reducer_made_is_validated() -> None:
    wrong = dataclasses.replace(spec("total"), reducer=Reducer(None, lambda current, delta: "x"))
    with pytest.raises(ValidationError):
        wrong.joined(1, 2)


def test_a_reducer_that_changes_what_it_is_given_does_not_change_the_state() -> None:
    field = spec("tally")
    before = field.joined(None, 1)
    after = field.joined(before, 5)
    assert (before.count, after.count) == (1, 6)


def test_a_reducer_of_ones_own_sees_none_while_the_field_is_absent() -> None:
    seen: list[Any] = []

    def watch(current: Any, delta: Any) -> Any:
        seen.append(current)
        return delta

    field = dataclasses.replace(spec("total"), reducer=Reducer(None, watch))
    field.joined(field.joined(None, 1), 2)
    assert seen == [None, 1]


@given(st.lists(st.lists(st.integers(), max_size=4), max_size=5))
def test_appending_in_place_equals_appending_by_the_function(deltas: list[list[int]]) -> None:
    expected: list[int] | None = None
    for delta in deltas:
        expected = append.apply(expected, delta)
    assert joined("items", *deltas) == expected


def test_the_list_that_a_run_was_given_does_not_grow() -> None:
    field = spec("items")
    given_list = field.value.accept([1])
    grown = field.joined(given_list, freeze([2]))
    assert (given_list, grown) == ([1], [1, 2])


def test_a_list_grows_where_it_is() -> None:
    field = spec("items")
    first = field.joined(None, freeze([1]))
    assert type(first) is GrowingList
    assert field.joined(first, freeze([2])) is first


def test_a_growing_list_lends_what_can_change() -> None:
    boxes = joined("boxes", [Tally(1)], [Tally(2)])
    boxes[1].count = 99
    assert [box.count for box in boxes] == [1, 2]


@pytest.mark.parametrize(
    ("reducer", "name"),
    [
        (append, "append"),
        (add, "add"),
        (merge, "merge"),
        (union, "union"),
        (Reducer(None, _largest), "_largest"),
        (Reducer(int, _counted, "counted"), "counted"),
    ],
)
def test_a_reducer_has_a_name_for_drawings_and_specs(reducer: Reducer, name: str) -> None:
    assert str(reducer) == name


def test_the_ready_made_reducers_leave_their_arguments_alone() -> None:
    cases: list[tuple[Reducer, Any, Any]] = [
        (append, [1], [2]),
        (merge, {"a": 1}, {"b": 2}),
        (union, {1}, {2}),
    ]
    for reducer, current, delta in cases:
        before = repr((current, delta))
        apply: Callable[[Any, Any], Any] = reducer.apply
        apply(current, delta)
        assert repr((current, delta)) == before
