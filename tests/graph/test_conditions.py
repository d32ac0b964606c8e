"""Conditions as data: what each operator answers, what they read, how they read aloud."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import Condition, field
from agentflow.graph.condition import OPERATORS, AllOf, AnyOf, Not, Test, ready

COMPARISONS: dict[str, Callable[[Any, Any], Condition]] = {
    "==": lambda path, value: path == value,
    "!=": lambda path, value: path != value,
    "<": lambda path, value: path < value,
    "<=": lambda path, value: path <= value,
    ">": lambda path, value: path > value,
    ">=": lambda path, value: path >= value,
    "is_in": lambda path, value: path.is_in([value]),
    "contains": lambda path, value: path.contains(value),
    "exists": lambda path, value: path.exists(),
    "is_none": lambda path, value: path.is_none(),
}


def test_every_operator_has_its_spelling_in_the_data() -> None:
    assert tuple(COMPARISONS) == OPERATORS
    for op, ask in COMPARISONS.items():
        condition = ask(field("a"), "x")
        assert isinstance(condition, Test)
        assert (condition.path, condition.op) == (("a",), op)


@pytest.mark.rule("R268")
@pytest.mark.parametrize(
    ("condition", "true_of", "false_of"),
    [
        pytest.param(field("a") == 1, [1, 1.0, True], [2, "1", None], id="=="),
        pytest.param(field("a") != 1, [2, "1", None], [1], id="!="),
        pytest.param(field("a") < 1, [0, -1.5], [1, 2], id="<"),
        pytest.param(field("a") <= 1, [0, 1], [1.5], id="<="),
        pytest.param(field("a") > 1, [2], [1, 0], id=">"),
        pytest.param(field("a") >= 1, [1, 2], [0.5], id=">="),
        pytest.param(field("a").is_in(["x", "y"]), ["x", "y"], ["z", None, ["x"]], id="is_in"),
        pytest.param(
            field("a").contains(1), [[1], {1: 2}, {1}, (0, 1)], [[], {2: 1}], id="contains"
        ),
        pytest.param(field("a").contains("b"), ["abc"], ["ac"], id="contains text"),
        pytest.param(field("a").exists(), [1, None, False], [], id="exists"),
        pytest.param(field("a").is_none(), [None], [0, False, ""], id="is_none"),
        pytest.param(field("a") == None, [None], [0, ""], id="== None"),  # noqa: E711
    ],
)
def test_an_operator_compares_the_value(
    condition: Condition, true_of: list[Any], false_of: list[Any]
) -> None:
    for value in true_of:
        assert condition({"a": value}) is True, value
    for value in false_of:
        assert condition({"a": value}) is False, value


@pytest.mark.rule("R268")
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("a", {}),
        ("a.b", {}),
        ("a.b", {"a": None}),
        ("a.b", {"a": {}}),
        ("a.b", {"a": 5}),
        ("a.b.c", {"a": {"b": {}}}),
        ("a.0", {"a": [1]}),
        ("a.get", {"a": {}}),
    ],
)
def test_a_missing_path_does_not_match_and_is_no_error(
    op: str, path: str, state: dict[str, Any]
) -> None:
    condition = COMPARISONS[op](field(path), 1)
    assert condition(state) is False


@pytest.mark.rule("R268")
def test_a_path_goes_through_mappings_and_attributes() -> None:
    state = {
        "service": {"status": "online", "owner": SimpleNamespace(name="ada", tags={"team": "x"})}
    }
    assert (field("service.status") == "online")(state)
    assert (field("service.owner.name") == "ada")(state)
    assert (field("service.owner.tags.team") == "x")(state)
    assert not (field("service.owner.age") == 3)(state)


def test_a_key_of_a_mapping_goes_before_its_methods() -> None:
    assert (field("a.items") == 1)({"a": {"items": 1}})
    assert not field("a.items").exists()({"a": {}})


def test_ready_wants_a_value_that_is_not_none() -> None:
    assert ready("a")({"a": 0})
    assert not ready("a")({"a": None})
    assert not ready("a")({})


@pytest.mark.rule("R261")
def test_an_answer_is_a_bool_whatever_the_value_says() -> None:
    class Vague:
        def __eq__(self, other: object) -> Any:
            return "yes"

        def __lt__(self, other: object) -> Any:
            return []

        __hash__ = None  # type: ignore[assignment]

    assert (field("a") == 1)({"a": Vague()}) is True
    assert (field("a") < 1)({"a": Vague()}) is False


def test_what_cannot_be_compared_raises_for_the_engine_to_report() -> None:
    with pytest.raises(TypeError):
        (field("a") < 1)({"a": "x"})
    with pytest.raises(TypeError):
        field("a").contains(1)({"a": 5})


# --- combination -------------------------------------------------------------------------------

A, B, C = (field(name) == 1 for name in "abc")


def conditions() -> st.SearchStrategy[Condition]:
    tests: st.SearchStrategy[Condition] = st.builds(
        lambda name, op, value: COMPARISONS[op](field(name), value),
        st.sampled_from("ab"),
        st.sampled_from([op for op in OPERATORS if op != "contains"]),
        st.integers(0, 2),
    )
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds(lambda x, y: x & y, inner, inner),
            st.builds(lambda x, y: x | y, inner, inner),
            st.builds(lambda x: ~x, inner),
        ),
        max_leaves=6,
    )


ANSWERS: dict[str, Callable[[Any, Any], object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is_in": lambda found, values: found in values,
    "exists": lambda found, value: True,
    "is_none": lambda found, value: found is None,
}


def by_hand(condition: Condition, state: dict[str, Any]) -> bool:
    match condition:
        case AllOf(parts):
            return all(by_hand(part, state) for part in parts)
        case AnyOf(parts):
            return any(by_hand(part, state) for part in parts)
        case Not(part):
            return not by_hand(part, state)
        case Test((name,), op, value):
            return name in state and bool(ANSWERS[op](state[name], value))
    raise AssertionError(condition)


@given(conditions(), st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)))
def test_a_combination_is_what_its_parts_say(condition: Condition, state: dict[str, int]) -> None:
    assert condition(state) is by_hand(condition, state)


@given(conditions())
def test_equal_conditions_are_equal_data(condition: Condition) -> None:
    assert dataclasses.replace(condition) == condition  # type: ignore[type-var]
    assert hash(dataclasses.replace(condition)) == hash(condition)  # type: ignore[type-var]


@given(conditions(), st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)))
def test_negation_turns_every_answer(condition: Condition, state: dict[str, int]) -> None:
    assert (~condition)(state) is not condition(state)


def test_a_later_part_is_not_asked_when_an_earlier_one_decides() -> None:
    explosive = field("b") < 1
    assert (A & explosive)({"a": 0, "b": "x"}) is False
    assert (A | explosive)({"a": 1, "b": "x"}) is True


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(lambda: A and B, id="and"),  # type: ignore[unreachable]
        pytest.param(lambda: A or B, id="or"),  # type: ignore[unreachable]
        pytest.param(lambda: not A, id="not"),
        pytest.param(lambda: 1 < field("a") < 3, id="chained"),
        pytest.param(lambda: bool(A & B), id="bool of a combination"),
        pytest.param(lambda: 1 if A else 2, id="if"),
    ],
)
def test_asking_a_condition_for_its_truth_raises(attempt: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"combine conditions with & \| ~"):
        attempt()


def test_a_path_without_a_comparison_has_no_truth_either() -> None:
    with pytest.raises(TypeError, match=r"field\('a'\) is no condition yet: compare it"):
        bool(field("a"))


@pytest.mark.parametrize("other", [True, lambda state: True, field("b")])
def test_only_conditions_combine(other: Any) -> None:
    with pytest.raises(TypeError, match=r"is no condition; start it with field"):
        A & other
    with pytest.raises(TypeError, match=r"is no condition; start it with field"):
        A | other


# --- what they say of themselves ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        (field("a") == 1, {"a"}),
        (field("a.b.c").exists(), {"a"}),
        ((A & B) | ~C, {"a", "b", "c"}),
        (ready("a"), {"a"}),
    ],
)
def test_a_condition_tells_the_fields_that_it_reads(condition: Condition, reads: set[str]) -> None:
    assert condition.reads() == reads


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (field("a.b") == "x", "a.b == 'x'"),
        (field("a") >= 2.5, "a >= 2.5"),
        (field("a").is_in(["x", 1]), "a in ['x', 1]"),
        (field("a").is_in([]), "a in []"),
        (field("a").contains("x"), "a contains 'x'"),
        (field("a").exists(), "a exists"),
        (field("a").is_none(), "a is none"),
        (A & B & C, "(a == 1 and b == 1) and c == 1"),
        (A & (B | C), "a == 1 and (b == 1 or c == 1)"),
        (A | (B & C), "a == 1 or (b == 1 and c == 1)"),
        (~A, "not a == 1"),
        (~(A & B), "not (a == 1 and b == 1)"),
    ],
)
def test_a_condition_reads_aloud(condition: Condition, text: str) -> None:
    assert str(condition) == text


def test_a_long_value_is_cut_in_the_text() -> None:
    assert len(str(field("a") == "x" * 1000)) < 100


def test_a_set_of_values_has_one_order_in_every_process() -> None:
    condition = field("a").is_in({"b", "c", "a"})
    assert isinstance(condition, Test)
    assert condition.value == ("a", "b", "c")


def test_a_field_named_like_a_method_of_the_state_is_read_as_a_field() -> None:
    class Both(dict[str, Any]):
        get = 5  # type: ignore[assignment]

    assert (field("get") == 1)(Both(get=1))
    assert (field("get.x") == 1)(Both(get={"x": 1}))


# --- malformed: kept, for the definition to report ---------------------------------------------


@pytest.mark.parametrize("path", [5, None, ["a"], object()])
def test_a_malformed_path_raises_nothing_by_itself(path: Any) -> None:
    for ask in COMPARISONS.values():
        condition = ask(field(path), 1)
        assert str(condition).startswith("<")
        assert condition({"a": 1}) is False


@pytest.mark.parametrize("values", [5, None, "abc"])
def test_malformed_values_of_is_in_raise_nothing_by_themselves(values: Any) -> None:
    assert str(field("a").is_in(values)) == f"a in [{values!r}]"


def test_a_bare_condition_cannot_be_evaluated() -> None:
    with pytest.raises(TypeError, match="Condition is no condition that can be evaluated"):
        Condition()({})
