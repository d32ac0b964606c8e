"""Frozen values: nothing changes them, reading them is ordinary, and copies are one's own."""
# ruff: noqa: RUF005, RUF015 - how a value is read is what these tests are about

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import pickle
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from agentflow.graph.frozen import (
    FrozenDict,
    FrozenList,
    FrozenSet,
    GrowingList,
    State,
    extend,
    freeze,
    growing,
    lend,
    shared,
    thaw,
    write,
)

KEYS = st.text(max_size=3) | st.integers() | st.tuples(st.integers(), st.text(max_size=2))
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(ATOMS.filter(lambda atom: atom == atom), max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=12,
)


class Box:
    """Something that can be changed, compared by what it holds."""

    def __init__(self, content: Any = 0) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.content == other.content

    def __hash__(self) -> int:
        return 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 0


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(enum.Enum):
    RED = 1


def types_of(value: Any) -> Any:
    """The types of all containers in a value."""
    if isinstance(value, dict):
        return type(value), {key: types_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [types_of(item) for item in value]
    return type(value)


# --- round trips -------------------------------------------------------------------------------


@given(VALUES)
def test_a_frozen_value_equals_what_it_was_made_of(value: Any) -> None:
    assert freeze(value) == value


@given(VALUES)
def test_a_thawed_value_is_ordinary_and_equal(value: Any) -> None:
    thawed = thaw(freeze(value))
    assert thawed == value
    assert types_of(thawed) == types_of(value)


@given(VALUES)
def test_freezing_twice_changes_nothing(value: Any) -> None:
    frozen = freeze(value)
    assert freeze(frozen) is frozen


@given(VALUES)
def test_the_original_is_left_alone(value: Any) -> None:
    before = copy.deepcopy(value)
    freeze(value)
    assert value == before
    assert types_of(value) == types_of(before)


@given(VALUES)
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deepcopy", "pickle"],
)
def test_copies_are_ordinary_values(copied: Callable[[Any], Any], value: Any) -> None:
    result = copied(freeze(value))
    assert result == value
    assert types_of(result) == types_of(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_json_sees_ordinary_values(value: Any) -> None:
    assert json.dumps(freeze(value)) == json.dumps(value)


def test_json_sees_ordinary_values_in_a_state() -> None:
    state = State()
    write(state, {"a": freeze([1, {"b": 2}])})
    assert json.loads(json.dumps(state)) == {"a": [1, {"b": 2}]}


@given(VALUES)
def test_a_shallow_copy_can_be_changed(value: Any) -> None:
    frozen = freeze([value])
    for copied in (copy.copy(frozen), frozen.copy(), frozen[:], [*frozen], frozen + []):
        assert type(copied) is list
        copied.append(1)
    assert frozen == [value]


# --- no change gets through --------------------------------------------------------------------

# What reads, builds something new, or is Python's own machinery.
HARMLESS = {
    *dir(object),
    *("__add__", "__mul__", "__rmul__", "__or__", "__ror__", "__and__", "__rand__", "__sub__"),
    *("__rsub__", "__xor__", "__rxor__", "__contains__", "__getitem__", "__iter__", "__len__"),
    *("__reversed__", "__class_getitem__"),
    *("copy", "count", "index", "fromkeys", "get", "items", "keys", "values"),
    *("difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"),
    "symmetric_difference",
}
CHANGES = {
    kind: sorted(set(dir(kind)) - HARMLESS)
    for kind in (
        list,
        dict,
        set,
    )  # whatever a new Python adds is taken for a change until it is listed
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "__setitem__": (0, 9),
    "__delitem__": (0,),
    "append": (9,),
    "insert": (0, 9),
    "remove": (0,),
    "extend": ([9],),
    "__iadd__": ([9],),
    "__imul__": (2,),
    "add": (9,),
    "discard": (0,),
    "setdefault": (9, 9),
    "update": ({9: 9},),
    "__ior__": ({9: 9},),
}


def samples() -> list[Any]:
    boxes = freeze([0, Box()]), freeze({0: Box()})
    grown = growing([0])
    lending = growing([0])
    extend(lending, [Box()])
    state = State()
    write(state, {0: 0})  # type: ignore[dict-item]
    lending_state = State()
    write(lending_state, {0: Box()})  # type: ignore[dict-item]
    return [
        *(freeze([0, 1]), freeze({0: 1}), freeze({0, 1}), *boxes),
        *(grown, lending, state, lending_state),
    ]


def test_the_list_of_changes_is_complete() -> None:
    assert {
        list: [
            *("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend"),
            *("insert", "pop", "remove", "reverse", "sort"),
        ],
        dict: [
            *("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault"),
            "update",
        ],
        set: [
            *("__iand__", "__ior__", "__isub__", "__ixor__", "add", "clear", "difference_update"),
            *("discard", "intersection_update", "pop", "remove", "symmetric_difference_update"),
            "update",
        ],
    } == CHANGES


@pytest.mark.case("P026")
@pytest.mark.parametrize("number", range(len(samples())))
def test_every_way_to_change_a_frozen_value_is_refused(number: int) -> None:
    value = samples()[number]
    kind = next(kind for kind in CHANGES if isinstance(value, kind))
    before = thaw(value)
    for name in CHANGES[kind]:
        arguments = ARGUMENTS.get(name, ())
        if kind is set and (name.startswith("__i") or name.endswith("update")):
            arguments = ({9},)
        with pytest.raises(TypeError, match=rf"read-only: this {kind.__name__} cannot be changed"):
            getattr(value, name)(*arguments)
    assert thaw(value) == before


@pytest.mark.parametrize("number", range(len(samples())))
def test_a_frozen_value_takes_no_attributes(number: int) -> None:
    with pytest.raises(AttributeError):
        samples()[number].note = 1


@pytest.mark.case("P026")
def test_the_operators_that_change_in_place_are_refused() -> None:
    items, table, members = freeze([1]), freeze({"a": 1}), freeze({1})
    with pytest.raises(TypeError, match="read-only"):
        items += [2]
    with pytest.raises(TypeError, match="read-only"):
        items *= 2
    with pytest.raises(TypeError, match="read-only"):
        table |= {"b": 2}
    with pytest.raises(TypeError, match="read-only"):
        members -= {1}
    with pytest.raises(TypeError, match="read-only"):
        table["a"] = 2
    with pytest.raises(TypeError, match="read-only"):
        del items[0]
    with pytest.raises(TypeError, match="read-only"):
        items[:] = []
    assert (items, table, members) == ([1], {"a": 1}, {1})


def test_the_refusal_says_what_to_do() -> None:
    with pytest.raises(TypeError) as refused:
        freeze({"a": [1]})["a"].append(2)
    assert str(refused.value) == (
        "the state is read-only: this list cannot be changed in place; "
        "return the new value from the node, or work on a copy (list(…) or copy.copy)"
    )


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (lambda v: v + [9], [0, 1, 9]),
        (lambda v: [9] + v, [9, 0, 1]),
        (lambda v: v * 2, [0, 1, 0, 1]),
        (lambda v: 2 * v, [0, 1, 0, 1]),
        (lambda v: v[1:], [1]),
        (lambda v: sorted(v, reverse=True), [1, 0]),
    ],
)
def test_what_is_made_of_a_frozen_list_is_ordinary(
    combine: Callable[[Any], Any], expected: list[int]
) -> None:
    for value in (freeze([0, 1]), growing([0, 1])):
        made = combine(value)
        assert made == expected
        assert type(made) is list


def test_what_is_made_of_frozen_dicts_and_sets_is_ordinary() -> None:
    table, members = freeze({"a": 1}), freeze({1})
    for made in (table | {"b": 2}, {"b": 2} | table, table.copy(), dict(table), {**table}):
        assert type(made) is dict
    for made in (members | {2}, members & {1}, members - {1}, members ^ {1}, members.copy()):
        assert type(made) is set
    for made in (members.union(), members.difference({1}), members.intersection({1})):
        assert type(made) is set


# --- objects that can change are lent ----------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda items: items[0], id="index"),
        pytest.param(lambda items: items[-2], id="negative index"),
        pytest.param(lambda items: items[:1][0], id="slice"),
        pytest.param(lambda items: next(iter(items)), id="iter"),
        pytest.param(lambda items: list(reversed(items))[1], id="reversed"),
        pytest.param(lambda items: [*items][0], id="star"),
        pytest.param(lambda items: list(items)[0], id="list"),
        pytest.param(lambda items: tuple(items)[0], id="tuple"),
        pytest.param(lambda items: deque(items)[0], id="deque"),
        pytest.param(lambda items: items.copy()[0], id="copy"),
        pytest.param(lambda items: copy.copy(items)[0], id="copy.copy"),
        pytest.param(lambda items: copy.deepcopy(items)[0], id="deepcopy"),
        pytest.param(lambda items: (items + [1])[0], id="+"),
        pytest.param(lambda items: ([] + items)[0], id="added to a list"),
        pytest.param(lambda items: (items * 2)[0], id="*"),
        pytest.param(lambda items: (2 * items)[0], id="times"),
        pytest.param(lambda items: thaw(items)[0], id="thaw"),
        pytest.param(lambda items: (lambda *args: args)(*items)[0], id="call"),
        pytest.param(lambda items: [first for first, *_ in [items]][0], id="unpacked"),
        pytest.param(lambda items: max(items, key=lambda i: isinstance(i, Box)), id="max"),
    ],
)
def test_whoever_looks_into_a_list_is_lent_a_copy(read: Callable[[Any], Box]) -> None:
    original = Box()
    items = freeze([original, 1])
    grown = growing([1])
    extend(grown, [])
    for value in (items, freeze([*items])):
        lent = read(value)
        assert lent == original
        lent.content = "changed"
        assert value[0].content == 0
    assert original.content == 0


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda table: table["a"], id="index"),
        pytest.param(lambda table: table.get("a"), id="get"),
        pytest.param(lambda table: next(iter(table.values())), id="values"),
        pytest.param(lambda table: next(iter(table.items()))[1], id="items"),
        pytest.param(lambda table: dict(table)["a"], id="dict"),
        pytest.param(lambda table: {**table}["a"], id="star"),
        pytest.param(lambda table: table.copy()["a"], id="copy"),
        pytest.param(lambda table: copy.copy(table)["a"], id="copy.copy"),
        pytest.param(lambda table: copy.deepcopy(table)["a"], id="deepcopy"),
        pytest.param(lambda table: (table | {})["a"], id="|"),
        pytest.param(lambda table: ({} | table)["a"], id="joined to a dict"),
        pytest.param(lambda table: (lambda **options: options)(**table)["a"], id="call"),
        pytest.param(lambda table: thaw(table)["a"], id="thaw"),
    ],
)
def test_whoever_looks_into_a_mapping_is_lent_a_copy(read: Callable[[Any], Box]) -> None:
    original = Box()
    state = State()
    write(state, {"a": freeze(original)})
    for value in (freeze({"a": original}), state):
        lent = read(value)
        assert lent == original
        lent.content = "changed"
        assert value["a"].content == 0
    assert original.content == 0


def test_a_lending_mapping_answers_like_any_other() -> None:
    table = freeze({"a": Box(), "b": 1})
    assert list(table) == list(table.keys()) == ["a", "b"]
    assert "a" in table
    assert table.get("z") is None
    assert table.get("z", 5) == 5
    assert len(table) == 2
    assert ("b", 1) in table.items()
    with pytest.raises(KeyError):
        table["z"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({Box()}, id="set"),
        pytest.param({Box(): 1}, id="keys"),
        pytest.param(frozenset([Box()]), id="frozenset"),
        pytest.param((Box(),), id="tuple"),
        pytest.param(Pair(Box(), 1), id="named tuple"),
        pytest.param(Point(Box()), id="frozen dataclass"),
        pytest.param(OrderedDict(a=Box()), id="OrderedDict"),
        pytest.param(deque([Box()]), id="deque"),
        pytest.param(bytearray(b"x"), id="bytearray"),
        pytest.param(Box(Box()), id="object"),
    ],
)
def test_what_cannot_be_frozen_is_copied_on_its_way_in_and_lent_on_its_way_out(value: Any) -> None:
    frozen = freeze(value)
    assert not shared(frozen)
    assert frozen == value
    assert type(frozen) is type(value)
    for lent in (lend(frozen), thaw(frozen)):
        assert lent == value
        assert lent is not frozen
        assert type(lent) is type(value)
    assert frozen is not value


def test_special_containers_keep_their_type() -> None:
    counted: Any = defaultdict(int, a=1)
    bounded: Any = deque([1, 2], maxlen=2)
    assert thaw(freeze(counted)).default_factory is int
    assert thaw(freeze(bounded)).maxlen == 2
    assert type(freeze(OrderedDict(a=1))) is OrderedDict


@pytest.mark.parametrize(
    "value",
    [
        *(1, "a", 1.5, None, True, b"x", range(3), ..., int, len),
        *(decimal.Decimal("1.5"), uuid.UUID(int=1), pathlib.Path("a"), Colour.RED),
        *(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(1)),
        *((1, "a"), frozenset({1, (2, 3)}), Point(1, (2, 3)), Pair(1, 2)),
    ],
    ids=repr,
)
def test_what_nobody_can_change_is_shared_as_it_is(value: Any) -> None:
    assert freeze(value) is value
    assert shared(value)
    assert lend(value) is value


def test_a_named_tuple_stays_one_and_holds_frozen_values() -> None:
    frozen = freeze(Pair([1], {"a": 1}))
    assert type(frozen) is Pair
    assert type(frozen.left) is FrozenList
    thawed = thaw(frozen)
    assert type(thawed) is Pair
    assert type(thawed.left) is list
    old = namedtuple("old", "a")([1])
    assert type(freeze(old)) is type(old)


def test_another_subclass_of_tuple_keeps_its_type() -> None:
    class Row(tuple[Any, ...]):
        __slots__ = ()

    row = Row([[1], 2])
    frozen = freeze(row)
    assert type(frozen) is Row
    lend(frozen)[0].append(5)
    assert frozen == ([1], 2)


def test_what_cannot_be_copied_is_refused_by_what_it_raises() -> None:
    with pytest.raises(TypeError, match="generator"):
        freeze(each for each in [1])


def test_frozen_kinds_are_the_builtin_ones() -> None:
    assert isinstance(freeze([]), FrozenList)
    assert isinstance(freeze({}), FrozenDict)
    assert isinstance(freeze(set()), FrozenSet)
    assert isinstance(freeze([]), list)


# --- growing lists -----------------------------------------------------------------------------


@given(st.lists(VALUES, max_size=4), st.lists(st.lists(VALUES, max_size=3), max_size=4))
def test_a_growing_list_holds_everything_that_was_put_into_it(
    first: list[Any], more: list[list[Any]]
) -> None:
    target = growing(list(freeze(first)))
    expected = list(first)
    for items in more:
        extend(target, freeze(items))
        expected += items
    assert target == expected


def aliases_of(grown: GrowingList) -> list[Any]:
    return [
        freeze(grown),
        freeze([grown])[0],
        freeze({"a": grown})["a"],
        freeze((grown,))[0],
        freeze(Pair(grown, 1)).left,
        lend(freeze(Point(grown))).x,
        lend(freeze(Point((grown,)))).x[0],
        thaw(grown),
        copy.copy(grown),
        copy.deepcopy(grown),
        grown[:],
    ]


@pytest.mark.parametrize("item", [1, Box()])
def test_what_a_node_keeps_of_a_growing_list_does_not_grow(item: Any) -> None:
    grown = growing([freeze(item)])
    points = [freeze(Point(grown)), freeze(Point((grown,)))]
    kept = aliases_of(grown)
    extend(grown, [2])
    assert [list(alias) for alias in kept] == [[item]] * len(kept)
    assert lend(points[0]).x == [item]
    assert lend(points[1]).x == ([item],)
    assert grown == [item, 2]


def test_a_growing_list_lends_from_the_moment_it_has_to() -> None:
    grown = growing([1])
    assert type(grown) is GrowingList
    extend(grown, freeze([Box()]))
    assert isinstance(grown, GrowingList)
    grown[1].content = "changed"
    assert grown[1].content == 0


# --- the state ---------------------------------------------------------------------------------


def test_a_state_starts_to_lend_when_it_holds_what_can_change() -> None:
    state = State()
    write(state, {"a": 1})
    assert type(state) is State
    write(state, {"b": Box()})
    assert isinstance(state, State)
    state["b"].content = "changed"
    assert state["b"].content == 0
    assert state["a"] == 1


@pytest.mark.rule("R251")
def test_a_node_has_nothing_to_write_with() -> None:
    assert [name for name in vars(State) if not name.startswith("_")] == ["with_attributes"]


def test_a_state_with_attributes_offers_its_fields_and_says_which_are_not_there_yet() -> None:
    kind = State.with_attributes(["a", "b"])
    state = kind()
    write(state, {"a": 1})
    assert state.a == 1  # type: ignore[attr-defined]
    assert not hasattr(state, "b")
    with pytest.raises(AttributeError, match="the state has no field 'b' yet"):
        state.b  # type: ignore[attr-defined] # noqa: B018
    for name in ("a", "b"):
        with pytest.raises(
            AttributeError, match=f"read-only: the field '{name}' .*; return the new value"
        ):
            setattr(state, name, 2)
        with pytest.raises(
            AttributeError, match=f"read-only: the field '{name}' .*; return the new value"
        ):
            delattr(state, name)
    assert state == {"a": 1}


def test_the_attributes_of_a_state_lend_too() -> None:
    state = State.with_attributes(["a"])()
    write(state, {"a": Box()})
    state.a.content = "changed"  # type: ignore[attr-defined]
    assert state.a.content == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["get", "items", "keys", "values", "copy", "update", "write"])
def test_a_field_may_have_the_name_of_a_method(name: str) -> None:
    state = State.with_attributes([name])()
    write(state, {name: 5})
    assert getattr(state, name) == state[name] == 5
    assert dict.items(state) == {name: 5}.items()
