"""Trimming leaves out what is old, never tears a call from its result, and keeps what must stay."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from agentflow import ContractError, Message
from agentflow.messages import (
    MessageList,
    ToolCall,
    assistant,
    sanitise,
    system,
    tool_result,
    user,
)
from agentflow.messages.shortening import check_shortened, exchanges
from agentflow.messages.trimming import cut_results, trim
from tests.messages.histories import any_history, legal_histories

CALL, OTHER = ToolCall("c1", "look"), ToolCall("c2", "look")
TALK = [
    system("Be brief."),
    user("a" * 100),
    assistant(tool_calls=[CALL, OTHER]),
    tool_result(CALL, "b" * 100),
    tool_result(OTHER, "c" * 100),
    assistant("d" * 100),
    user("Well?"),
]


def kept_of(talk: list[Message], max_chars: int, keep_recent: int = 1) -> list[Message]:
    return list(trim(talk, max_chars=max_chars, keep_recent=keep_recent))


def test_what_is_short_enough_stays_as_it_is() -> None:
    size = MessageList(TALK).chars
    assert kept_of(TALK, size) == TALK
    assert kept_of(TALK, size - 1) == [TALK[0], *TALK[2:]]


@pytest.mark.case("P130")
def test_the_oldest_goes_first_and_calls_go_with_their_results() -> None:
    assert kept_of(TALK, 330) == [TALK[0], *TALK[2:]]
    assert kept_of(TALK, 320) == [TALK[0], *TALK[5:]]
    assert kept_of(TALK, 50) == [TALK[0], TALK[6]]
    assert kept_of(TALK, 0, keep_recent=3) == [TALK[0], *TALK[2:]]


def test_what_must_stay_stays_however_old_it_is() -> None:
    pinned = user("Only with a receipt." * 9, pinned=True)
    waiting = assistant(tool_calls=[ToolCall("c9", "pay")])
    talk = [TALK[0], pinned, waiting, user("The question."), *TALK[2:6]]
    assert kept_of(talk, 0) == [TALK[0], pinned, waiting, talk[3], TALK[5]]


@pytest.mark.case("P130", "P134")
@given(legal_histories(), st.integers(0, 60), st.integers(0, 8))
def test_a_legal_conversation_stays_legal(talk: list[Message], most: int, keep: int) -> None:
    after = trim(talk, max_chars=most, keep_recent=keep)
    assert not MessageList(after).pending_calls
    assert not MessageList(after).orphan_results
    # It may begin with an answer now.
    assert {repair.kind for repair in sanitise(after).repairs} <= {"opening_added"}
    assert trim(after, max_chars=most, keep_recent=keep) == after


@given(any_history, st.integers(0, 60), st.integers(0, 8))
def test_any_conversation_keeps_what_must_stay_and_its_order(
    talk: list[Message], most: int, keep: int
) -> None:
    pinned = [replace(message, pinned=at % 3 == 0) for at, message in enumerate(talk)]
    after = trim(pinned, max_chars=most, keep_recent=keep)
    places = [next(at for at, each in enumerate(pinned) if each is message) for message in after]
    assert places == sorted(places)
    assert {at for at, message in enumerate(pinned) if message.pinned} <= set(places)
    assert after[len(after) - min(keep, len(after)) :] == tuple(
        pinned[len(pinned) - min(keep, len(after)) :]
    )
    check_shortened(pinned, after)


@given(any_history)
def test_an_exchange_holds_all_results_of_its_calls(talk: list[Message]) -> None:
    groups = exchanges(talk)
    assert [message for group in groups for message in group] == talk
    pairs = [pair for pair in MessageList(talk).pairing.pairs if pair.result is not None]
    within = [
        pair
        for group in groups
        for pair in MessageList(group).pairing.pairs
        if pair.result is not None
    ]
    assert len(within) == len(pairs)


def test_a_message_between_a_call_and_its_result_belongs_to_their_exchange() -> None:
    talk = [assistant(tool_calls=[CALL]), user("Hurry."), tool_result(CALL, "1"), user("Well?")]
    assert [len(group) for group in exchanges(talk)] == [3, 1]
    crossed = [
        assistant(tool_calls=[CALL]),
        assistant(tool_calls=[OTHER]),
        tool_result(CALL, "1"),
        tool_result(OTHER, "2"),
    ]
    assert [len(group) for group in exchanges([*crossed, *talk])] == [4, 3, 1]


# Results of tools.


def results_of(messages: tuple[Message, ...]) -> list[str]:
    return [result.content for message in messages for result in message.tool_results]


@pytest.mark.case("P133")
def test_results_are_cut_where_what_stays_is_too_long_alone() -> None:
    calls = [ToolCall(f"c{number}", "look") for number in range(10)]
    results = [tool_result(call, str(number) * 10_000) for number, call in enumerate(calls)]
    talk = [*TALK, assistant(tool_calls=calls), *results]
    after = trim(talk, max_chars=5_000)
    assert MessageList(after).chars <= 5_000
    assert MessageList(after).is_legal
    # Each keeps its beginning, its end, and how much is missing.
    for number, content in enumerate(results_of(after)):
        assert content.startswith(str(number) * 99)
        assert content.endswith(str(number) * 99)
        assert " characters left out …]" in content


@pytest.mark.case("P133")
def test_long_results_are_cut_before_short_ones() -> None:
    talk = [
        assistant(tool_calls=[CALL, OTHER]),
        tool_result(CALL, "a" * 300),
        tool_result(OTHER, "b" * 9_000),
    ]
    after = cut_results(talk, max_chars=1_000)
    assert after[:2] == tuple(talk[:2])
    assert MessageList(after).chars == 1_000
    (cut,) = results_of(after[2:])
    kept = cut.count("b")
    assert f"[… {9_000 - kept} characters left out …]" in cut


@pytest.mark.case("P137")
@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=5), st.integers(0, 3_000))
def test_results_are_cut_to_what_there_is_room_for_and_not_below_what_is_one(
    sizes: list[int], most: int
) -> None:
    calls = [ToolCall(f"c{number}", "look") for number in range(len(sizes))]
    results = [tool_result(call, "天" * size) for call, size in zip(calls, sizes, strict=True)]
    before = [assistant(tool_calls=calls), *results]
    after = cut_results(before, max_chars=most)
    lengths = [len(content) for content in results_of(after)]
    # The number of what is left out may have some digits fewer than was thought.
    assert all(length >= min(size, 198) for length, size in zip(lengths, sizes, strict=True))
    fits = MessageList(after).chars <= most
    assert fits or max(lengths) <= 200
    assert not fits or most - MessageList(after).chars < 4 * len(sizes) or after == tuple(before)
    assert cut_results(after, max_chars=most) == after


def test_a_pinned_result_is_not_cut() -> None:
    source = replace(tool_result(CALL, "a" * 9_000), pinned=True)
    talk = [assistant(tool_calls=[CALL, OTHER]), source, tool_result(OTHER, "b" * 9_000)]
    after = cut_results(talk, max_chars=10_000)
    assert after[:2] == tuple(talk[:2])
    assert len(results_of(after)[1]) < 1_000


def test_a_call_that_waits_for_its_result_cannot_be_lost() -> None:
    waiting = assistant(tool_calls=[CALL])
    with pytest.raises(ContractError, match="the tool call 'c1', which waits"):
        check_shortened([waiting, user("Well?")], [user("Well?")])
