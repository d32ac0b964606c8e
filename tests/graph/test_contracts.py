"""Contracts and excerpts: what a value must be, and how a message shows one that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from agentflow.errors import ContractError
from agentflow.graph.contract import ANY, Contract, contract_error, reason_of
from agentflow.graph.excerpt import excerpt
from agentflow.graph.frozen import FrozenList


class Strange:
    """A class that pydantic does not know."""


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr today")


class Talkative:
    def __repr__(self) -> str:
        return "first line\nsecond line"


def test_a_contract_validates_and_freezes() -> None:
    value = Contract(list[int]).accept(["1", 2])
    assert value == [1, 2]
    assert type(value) is FrozenList


def test_validation_alone_leaves_values_ordinary() -> None:
    assert type(Contract(list[int]).validate((1, 2))) is list


@pytest.mark.parametrize("hint", [int, str, float, bool, bytes, type(None)])
def test_a_plain_type_is_recognised_without_validation(hint: type) -> None:
    assert Contract(hint).exact is hint


PLAIN_VALUES: list[tuple[type, Any]] = [
    *((int, 3), (int, "3"), (int, 3.0), (int, "three"), (int, True), (int, 3.5)),
    *((str, "a"), (str, "\ud800"), (str, 1), (float, 1), (float, "nan"), (float, float("inf"))),
    *((bool, True), (bool, "yes"), (bool, 2), (bytes, b"a"), (bytes, "a")),
    *((type(None), None), (type(None), 0)),
]


@pytest.mark.parametrize(("hint", "value"), PLAIN_VALUES)
def test_a_plain_type_is_checked_alike_before_and_after_it_is_compiled(
    hint: type, value: Any
) -> None:
    put_off, compiled = Contract(hint), Contract(hint)
    compiled.compile()
    expected = _outcome(TypeAdapter[Any](hint).validate_python, value)
    assert _outcome(put_off.accept, value) == expected
    assert _outcome(compiled.accept, value) == expected


def test_the_contract_of_a_list_of_a_plain_type_is_compiled_with_it() -> None:
    contract = Contract(int)
    items = contract.each()
    check = contract.validate
    assert items.accept(["1", 2]) == [1, 2]
    assert contract.validate is check


def _outcome(check: Callable[[Any], Any], value: Any) -> tuple[type, str]:
    try:
        found = check(value)
    except ValidationError as error:
        return ValidationError, str(error)
    return type(found), repr(found)


@pytest.mark.parametrize(
    "hint", [list[int], int | None, Literal["a"], Annotated[int, Field(gt=0)], Any, object, Strange]
)
def test_any_other_type_is_validated(hint: Any) -> None:
    assert Contract(hint).exact is None


def test_a_config_turns_off_the_short_way() -> None:
    assert Contract(str, config={"str_strip_whitespace": True}).exact is None
    assert Contract(str, config={"str_strip_whitespace": True}).accept(" a ") == "a"


def test_a_strange_class_is_checked_by_isinstance_also_inside() -> None:
    strange = Strange()
    assert Contract(Strange).validate(strange) is strange
    assert Contract(dict[str, Strange | None]).validate({"a": None}) == {"a": None}
    with pytest.raises(ValidationError, match="instance of Strange"):
        Contract(list[Strange]).validate([1])


def test_the_contract_of_anything_only_freezes() -> None:
    assert type(ANY.accept([1])) is FrozenList
    assert ANY.accept(1) == 1


@pytest.mark.parametrize("hint", [5, len, ..., object(), [], "NoSuchName", lambda value: value, {}])
def test_what_is_no_type_makes_no_contract(hint: Any) -> None:
    with pytest.raises(Exception, match=r".") as failed:
        Contract(hint)
    assert reason_of(failed.value)
    assert "\n" not in reason_of(failed.value)


def test_the_reason_names_errors_that_do_not_speak_for_themselves() -> None:
    assert reason_of(KeyError("type")) == "KeyError: 'type'"
    assert reason_of(NameError("name 'X' is not defined\nmore")) == (
        "NameError: name 'X' is not defined"
    )


class Address(BaseModel):
    street: str
    number: int


def _raised(check: Callable[[], Any]) -> Exception:
    try:
        check()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_an_error_says_where_what_came_and_why_for_every_part() -> None:
    bad = {"number": "x"}
    error = contract_error("input 'home'", bad, _raised(lambda: Contract(Address).validate(bad)))
    assert isinstance(error, ContractError)
    assert str(error) == (
        "input 'home': street: Field required; number: Input should be a valid integer, "
        "unable to parse string as an integer (got {'number': 'x'})"
    )


def test_an_error_of_the_authors_own_validator_is_named() -> None:
    assert str(contract_error("input 'a'", 1, KeyError("k"))) == "input 'a': KeyError: 'k' (got 1)"


def test_an_error_about_a_value_that_cannot_be_shown_is_still_an_error() -> None:
    assert str(contract_error("input 'a'", Broken(), ValueError("no"))) == (
        "input 'a': ValueError: no (got <Broken whose repr raises RuntimeError>)"
    )


@given(st.recursive(st.text() | st.integers() | st.binary(), st.lists, max_leaves=40))
def test_an_excerpt_is_one_short_line(value: Any) -> None:
    text = excerpt(value)
    assert len(text) <= 80
    assert "\n" not in text
    assert text == repr(value) or text == f"{repr(value)[:77]}..."


def test_an_excerpt_is_made_of_anything() -> None:
    assert excerpt(Broken()) == "<Broken whose repr raises RuntimeError>"
    assert excerpt(Talkative()) == "first line second line"
