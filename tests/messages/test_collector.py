"""Chunks become one message, however they were cut; what cannot be read is told, never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import ModelError
from agentflow.messages import (
    Chunk,
    Collector,
    FinishChunk,
    Message,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)


def collected(*chunks: Chunk) -> Message:
    collector = Collector("run/node#1/model:1.1")
    for chunk in chunks:
        collector.add(chunk)
    return collector.message()


def call_with(arguments: str) -> Any:
    chunk = ToolCallChunk(0, "c1", "look", arguments)
    return collected(chunk, FinishChunk("tool_calls")).tool_calls[0]


def test_pieces_of_text_become_one_part_and_reasoning_stays_apart() -> None:
    message = collected(
        ReasoningChunk("hm"),
        ReasoningChunk("m"),
        TextChunk("a "),
        TextChunk("b"),
        FinishChunk(),
    )
    assert (message.reasoning, message.text, len(message.content)) == ("hmm", "a b", 2)
    assert (message.role, message.provenance) == ("assistant", "model")


def test_an_answer_knows_the_call_that_it_came_from() -> None:
    assert collected(FinishChunk()).id == "run/node#1/model:1.1"


@pytest.mark.case("P079")
@pytest.mark.parametrize("arguments", ["", "  ", "\n"])
def test_no_arguments_are_empty_arguments(arguments: str) -> None:
    call = call_with(arguments)
    assert (call.arguments, call.error) == ({}, None)


@pytest.mark.case("P080")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"q": "abc', "no valid JSON"),
        ("[1, 2]", "must be a JSON object, not a list"),
        ("null", "must be a JSON object, not null"),
        ('"text"', "must be a JSON object, not a text"),
        ("3", "must be a JSON object, not a number"),
        ("true", "must be a JSON object, not a boolean"),
        ('{"q": NaN}', "NaN is no JSON number"),
        ('{"q": 1} and more', "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
    ],
)
def test_arguments_that_cannot_be_read_are_an_error_of_their_call(
    arguments: str, reason: str
) -> None:
    call = call_with(arguments)
    assert reason in call.error
    # What is kept for the next request is valid; the model's own text is kept beside it.
    assert (call.arguments, call.raw) == ({}, arguments)


@pytest.mark.case("P082")
def test_one_unreadable_call_does_not_touch_its_neighbours() -> None:
    message = collected(
        ToolCallChunk(0, "a", "look", '{"x": 1}'),
        ToolCallChunk(1, "b", "look", "{"),
        ToolCallChunk(2, "c", "look", '{"x": 3}'),
        FinishChunk("tool_calls"),
    )
    assert [call.error is None for call in message.tool_calls] == [True, False, True]
    assert message.tool_calls[2].arguments == {"x": 3}


@pytest.mark.rule("R290")
@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [TextChunk("half an ans")],
        [ToolCallChunk(0, "a", "look", '{"x": 1}')],
        [ToolCallChunk(0, "a", "look", '{"x": 1}'), UsageChunk(input_tokens=3)],
    ],
)
def test_an_answer_without_an_end_is_cut_off_and_gives_nothing(chunks: list[Chunk]) -> None:
    with pytest.raises(ModelError, match="cut off"):
        collected(*chunks)


def test_content_after_the_end_is_refused_but_usage_is_welcome() -> None:
    collector = Collector()
    collector.add(FinishChunk())
    collector.add(UsageChunk(input_tokens=2, output_tokens=1))
    assert collector.usage == {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3}
    with pytest.raises(ModelError, match="after the end"):
        collector.add(TextChunk("more"))


def test_later_figures_replace_earlier_ones_and_unknown_is_not_zero() -> None:
    collector = Collector()
    collector.add(UsageChunk(input_tokens=10))
    assert collector.usage == {"input_tokens": 10}
    collector.add(UsageChunk(output_tokens=1))
    collector.add(UsageChunk(output_tokens=7))
    assert collector.usage == {"input_tokens": 10, "output_tokens": 7, "total_tokens": 17}
    collector.add(UsageChunk(total_tokens=20))
    assert collector.usage["total_tokens"] == 20


def test_what_is_no_chunk_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="str, which is no chunk"):
        collected("text")  # type: ignore[arg-type]


def test_a_name_that_is_repeated_in_every_piece_is_one_name() -> None:
    message = collected(
        ToolCallChunk(0, "a", "look", '{"x"'),
        ToolCallChunk(0, None, "look", ": 1}"),
        FinishChunk("tool_calls"),
    )
    assert [(call.name, dict(call.arguments)) for call in message.tool_calls] == [
        ("look", {"x": 1})
    ]


def test_indices_may_have_gaps_and_come_mixed() -> None:
    message = collected(
        ToolCallChunk(4, "a", "one", "{"),
        ToolCallChunk(9, "b", "two", "{"),
        ToolCallChunk(4, arguments="}"),
        ToolCallChunk(9, arguments="}"),
        FinishChunk("tool_calls"),
    )
    assert [call.name for call in message.tool_calls] == ["one", "two"]


def test_another_id_at_the_same_index_is_another_call() -> None:
    message = collected(
        ToolCallChunk(0, "a", "one", "{}"),
        ToolCallChunk(0, "b", "two", "{}"),
        FinishChunk("tool_calls"),
    )
    assert [(call.id, call.name) for call in message.tool_calls] == [("a", "one"), ("b", "two")]


@pytest.mark.case("P082")
def test_every_call_has_an_id_of_its_own_and_the_same_one_every_time() -> None:
    chunks: list[Chunk] = [
        ToolCallChunk(0, None, "one"),
        ToolCallChunk(1, "x", "two"),
        ToolCallChunk(2, "x", "three"),
        ToolCallChunk(3, None, "four"),
        FinishChunk("tool_calls"),
    ]
    ids = [call.id for call in collected(*chunks).tool_calls]
    assert len(set(ids)) == 4
    assert ids[1] == "x"
    assert ids == [call.id for call in collected(*chunks).tool_calls]


@given(
    text=st.text(),
    arguments=st.dictionaries(st.text(), st.integers() | st.text() | st.none()),
    seed=st.randoms(use_true_random=False),
)
def test_any_cut_of_an_answer_gives_the_same_message(
    text: str, arguments: dict[str, Any], seed: Any
) -> None:
    spoken = json.dumps(arguments)
    whole: list[Chunk] = [TextChunk(text), ToolCallChunk(0, "c", "t", spoken)]
    pieces: list[Chunk] = [TextChunk(piece) for piece in _cut(text, seed)]
    pieces.append(ToolCallChunk(0, "c", "t"))
    pieces += [ToolCallChunk(0, arguments=piece) for piece in _cut(spoken, seed)]
    assert collected(*pieces, FinishChunk()) == collected(*whole, FinishChunk())
    assert collected(*pieces, FinishChunk()).tool_calls[0].arguments == arguments


def _cut(text: str, seed: Any) -> list[str]:
    places = sorted(seed.randint(0, len(text)) for _ in range(4))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
