"""Budgets, shares of a visit and retries: plain arithmetic."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import Budget, Retry, Uses

WHOLE = [
    field.name for field in dataclasses.fields(Budget) if field.name not in ("cost", "seconds")
]
LIMITS = st.none() | st.integers(0, 10**6)
BUDGETS: st.SearchStrategy[Budget] = st.builds(
    lambda limits: Budget(**limits), st.fixed_dictionaries(dict.fromkeys(WHOLE, LIMITS))
)


def test_a_budget_limits_nothing_unless_told() -> None:
    assert Budget().limits() == {}


def test_a_budget_lists_the_limits_that_are_set_and_zero_is_one() -> None:
    assert Budget(rounds=0, seconds=1.5).limits() == {"rounds": 0, "seconds": 1.5}


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Budget)])
@pytest.mark.parametrize("value", [-1, math.nan, "3", True, [1]])
def test_a_limit_that_is_no_number_of_at_least_0_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"Budget\({name}=.*\): a limit is a number"):
        Budget(**{name: value})


@pytest.mark.parametrize("name", WHOLE)
def test_a_count_is_a_whole_number(name: str) -> None:
    with pytest.raises(ValueError, match="this limit is a whole number"):
        Budget(**{name: 1.5})  # type: ignore[arg-type]
    assert Budget(**{name: 10**400}).limits() == {name: 10**400}


def test_money_and_time_may_be_fractions() -> None:
    assert Budget(cost=0.25, seconds=0.5).limits() == {"cost": 0.25, "seconds": 0.5}


@given(BUDGETS, BUDGETS)
def test_of_two_budgets_each_limit_is_the_smaller(one: Budget, other: Budget) -> None:
    both = one.tightened(other)
    for name in WHOLE:
        given_ones = [
            limit for limit in (getattr(one, name), getattr(other, name)) if limit is not None
        ]
        assert getattr(both, name) == (min(given_ones) if given_ones else None)
    assert both == other.tightened(one)
    assert one.tightened(None) == one == one.tightened(one)


def test_a_budget_is_a_value() -> None:
    assert Budget(rounds=3) == Budget(rounds=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Budget().rounds = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("uses", "problems"),
    [
        (Uses(), ()),
        (Uses(model_calls=2, tool_calls=3), ()),
        (Uses(model_calls=None), ()),
        (
            Uses(model_calls=-1),
            ("uses model_calls=-1: a count is a whole number of at least 0, or None for any",),
        ),
        (
            Uses(model_calls=True, tool_calls=1.5),  # type: ignore[arg-type]
            (
                "uses model_calls=True: a count is a whole number of at least 0, or None for any",
                "uses tool_calls=1.5: a count is a whole number of at least 0, or None for any",
            ),
        ),
    ],
)
def test_the_share_of_a_visit_tells_what_is_wrong_with_it(
    uses: Uses, problems: tuple[str, ...]
) -> None:
    assert uses.problems() == problems


def test_the_wait_before_a_try_doubles() -> None:
    assert [Retry(5, 0.5).delay(failed) for failed in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]


def test_without_a_backoff_nothing_waits_however_many_tries_there_are() -> None:
    assert {Retry(10**6).delay(failed) for failed in (1, 2, 1_024, 1_025, 10**6 - 1)} == {0.0}


def test_the_longest_wait_is_still_a_number() -> None:
    assert math.isfinite(Retry(10_000, 1.0).delay(9_999))


def test_a_backoff_function_is_asked_with_the_number_of_the_failed_try() -> None:
    assert [Retry(3, lambda failed: failed * 10).delay(failed) for failed in (1, 2)] == [10.0, 20.0]


@pytest.mark.parametrize(
    ("retry", "problems"),
    [
        (Retry(1), ()),
        (Retry(3, 0.5, (ValueError, KeyError)), ()),
        (Retry(3, lambda failed: 1.0, ValueError), ()),
        (Retry(0), ("retry attempts=0: it is a whole number of at least 1",)),
        (Retry(True), ("retry attempts=True: it is a whole number of at least 1",)),
        (Retry(2, -1), ("retry backoff=-1: it is seconds of at least 0, or a function",)),
        (Retry(2, math.inf), ("retry backoff=inf: it is seconds of at least 0, or a function",)),
        (Retry(2, math.nan), ("retry backoff=nan: it is seconds of at least 0, or a function",)),
        (
            Retry(2, on=BaseException),  # type: ignore[arg-type]
            ("retry on=<class 'BaseException'>: it takes exception types",),
        ),
        (
            Retry(2, on=(ValueError, "oops")),  # type: ignore[arg-type]
            ("retry on='oops': it takes exception types",),
        ),
        (
            Retry("x", "y"),  # type: ignore[arg-type]
            (
                "retry attempts='x': it is a whole number of at least 1",
                "retry backoff='y': it is seconds of at least 0, or a function",
            ),
        ),
    ],
)
def test_a_retry_tells_what_is_wrong_with_it(retry: Retry, problems: tuple[str, ...]) -> None:
    assert retry.problems() == problems
