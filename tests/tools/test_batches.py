"""Whatever calls a model proposes at once, and however they end: one result each, exact counts, nothing left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from agentflow import Budget, BudgetExceeded, StoreError, tool
from agentflow.messages import Message
from agentflow.stores.memory import MemoryStore
from agentflow.testing import fake_context
from agentflow.tools.execution import run_calls
from tests.durable.crashing import CrashingStore
from tests.tools.drawn import ENDING, Drawn, Happened, answers, carried_out
from tests.tools.test_execution import calls

many = settings(max_examples=60)
TOLD = {"broken": "failed: ValueError", "lie": "the output of", "denied": "is denied"}


def told(results: Sequence[Message]) -> list[tuple[str, bool, str]]:
    parts = [part for message in results for part in message.tool_results]
    return [(part.call_id, part.is_error, part.content) for part in parts]


def check_always(drawn: Sequence[Drawn], happened: Happened, at_once: int) -> None:
    """What holds however it ended."""
    assert [id for id, _, _ in told(happened.results)] == [f"c{n}" for n in range(len(drawn))]
    assert not happened.running
    assert happened.most <= at_once
    assert not happened.crowded
    assert all(drawn[number].starts for number in happened.started)
    assert happened.run.ledger.used("tool_calls") == happened.tries


def check_told(drawn: Sequence[Drawn], happened: Happened) -> None:
    """What each result says is what became of its call."""
    for number, (each, (_, is_error, text)) in enumerate(
        zip(drawn, told(happened.results), strict=True)
    ):
        if not is_error:
            assert (each.kind, text) == ("good", str(number))
            assert number in happened.returned
        elif each.kind in TOLD and TOLD[each.kind] in text:
            assert each.starts == (number in happened.started)
        elif "may have taken effect" in text:
            assert number in happened.started
        elif "cut short; nothing was executed" in text:
            assert number not in happened.started


@pytest.mark.rule("R213", "R311", "R312")
@pytest.mark.case("P077", "P082", "P089")
@given(
    drawn=answers(("good", "broken", "lie", "denied", "unknown", "misfit", "unread")),
    at_once=st.integers(1, 4),
)
@many
async def test_where_nothing_ends_the_run_every_call_gets_what_came_of_it(
    drawn: list[Drawn], at_once: int
) -> None:
    happened = await carried_out(drawn, at_once=at_once)
    assert happened.error is None
    assert happened.value == happened.results
    check_always(drawn, happened, at_once)
    for number, (each, (_, is_error, text)) in enumerate(
        zip(drawn, told(happened.results), strict=True)
    ):
        assert is_error == (each.kind != "good")
        assert text == str(number) if each.kind == "good" else TOLD.get(each.kind, "") in text
        assert each.starts == (number in happened.started)
    failing = [each for each in drawn if each.kind == "broken"]
    sound = [each for each in drawn if each.kind in ("good", "lie")]
    assert happened.tries == len(sound) + sum(each.retries + 1 for each in failing)


@pytest.mark.case("P083")
@given(drawn=answers(), at_once=st.integers(1, 4))
@many
async def test_whatever_ends_the_run_the_others_have_ended_and_each_call_can_be_told(
    drawn: list[Drawn], at_once: int
) -> None:
    happened = await carried_out(drawn, at_once=at_once)
    check_always(drawn, happened, at_once)
    check_told(drawn, happened)
    ending = [each.kind for each in drawn if each.kind in ENDING]
    if not ending:
        assert happened.error is None
    elif happened.error is None:
        assert ("bail" in ending, happened.value) == (True, "early")
    else:
        assert type(happened.error) in [ENDING[kind] for kind in ending]


@pytest.mark.rule("R279")
@pytest.mark.case("P086", "P088")
@given(drawn=answers(), at_once=st.integers(1, 4), allowed=st.integers(0, 8))
@many
async def test_no_call_over_the_limit_starts_and_every_try_counts(
    drawn: list[Drawn], at_once: int, allowed: int
) -> None:
    happened = await carried_out(drawn, at_once=at_once, allowed=allowed)
    check_always(drawn, happened, at_once)
    check_told(drawn, happened)
    assert happened.tries <= allowed
    wanted = sum(each.starts for each in drawn)
    if wanted > allowed:
        assert isinstance(happened.error, BudgetExceeded)
        assert (happened.error.used, happened.started) == (wanted, [])


@given(drawn=answers(("good", "broken", "lie")))
@many
async def test_one_at_a_time_they_start_in_their_order(drawn: list[Drawn]) -> None:
    happened = await carried_out(drawn, at_once=1)
    assert happened.started == list(range(len(drawn)))


async def test_a_try_too_many_is_not_made_and_what_the_others_did_is_kept() -> None:
    drawn = [Drawn("good"), Drawn("broken", retries=3, parallel=False), Drawn("good")]
    happened = await carried_out(drawn, allowed=3)
    assert isinstance(happened.error, BudgetExceeded)
    assert happened.tries == 3
    assert told(happened.results) == [
        ("c0", False, "0"),
        ("c1", True, "Error: cut short while it was at work; it may have taken effect or not"),
        ("c2", True, "Error: cut short; nothing was executed"),
    ]


@given(
    drawn=answers(("good", "broken", "lie", "denied", "unknown"), most=4),
    deaths=st.lists(st.tuples(st.integers(2, 9), st.booleans()), max_size=3),
)
@settings(max_examples=30)
async def test_a_crash_changes_no_result_and_repeats_no_call_that_was_recorded(
    drawn: list[Drawn], deaths: list[tuple[int, bool]]
) -> None:
    whole = await carried_out(drawn)
    store, made, lives = MemoryStore(), Counter[int](), 0
    for at, before in [*deaths, (0, True)]:
        happened = await carried_out(drawn, store=CrashingStore(store, at, before=before))
        made.update(happened.started)
        lives += 1
        if not isinstance(happened.error, StoreError):
            break
    assert happened.error is None
    assert told(happened.value) == told(whole.results)
    assert all(count <= lives for count in made.values())
    again = await carried_out(drawn, store=store)
    assert (told(again.value), again.started) == (told(whole.results), [])


@pytest.mark.case("P095")
async def test_the_same_call_twice_in_one_answer_is_made_twice() -> None:
    made: list[str] = []

    @tool
    async def note(word: str) -> int:
        made.append(word)
        return len(made)

    ctx = fake_context(tools=[note], budget=Budget(tool_calls=2))
    results = await run_calls(ctx, calls(("note", {"word": "a"}), ("note", {"word": "a"})))
    assert sorted(text for _, _, text in told(results)) == ["1", "2"]
