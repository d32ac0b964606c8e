"""Halves of characters: joined with their other half wherever a text was cut, and never handed on alone."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, strategies as st

from agentflow.messages import (
    Chunk,
    Collector,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
)
from agentflow.messages.surrogates import HalfKeeper, whole_text


def units_of(text: str) -> list[str]:
    """The text as a server of UTF-16 units would cut it: each unit a piece."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


def kept(*chunks: Chunk) -> list[Chunk]:
    keeper = HalfKeeper()
    return [*(out for chunk in chunks for out in keeper.take(chunk)), *keeper.rest()]


@pytest.mark.case("P136")
def test_two_halves_in_two_pieces_are_one_character() -> None:
    first, second = units_of("🍸")
    assert kept(TextChunk("a" + first), TextChunk(second + "b")) == [
        TextChunk("a"),
        TextChunk("🍸b"),
    ]


@pytest.mark.case("P136")
@pytest.mark.parametrize("cut", range(1, 12))
def test_arguments_with_escaped_halves_hold_one_character(cut: int) -> None:
    text = '{"q": "\\ud83c\\udf78 ok"}'
    collector = Collector()
    collector.add(ToolCallChunk(0, "c", "look", text[:cut]))
    collector.add(ToolCallChunk(0, arguments=text[cut:]))
    collector.add(FinishChunk("tool_calls"))
    (call,) = collector.message().tool_calls
    assert dict(call.arguments) == {"q": "🍸 ok"}


def test_arguments_cut_between_two_halves_are_read() -> None:
    first, second = units_of("🍸")
    collector = Collector()
    collector.add(ToolCallChunk(0, "c", "look", f'{{"q": "{first}'))
    collector.add(ToolCallChunk(0, arguments=f'{second}"}}'))
    collector.add(FinishChunk("tool_calls"))
    assert dict(collector.message().tool_calls[0].arguments) == {"q": "🍸"}


@pytest.mark.parametrize("text", ['{"a": ["\\ud83c"]}', '{"\\uDF78": {"b": "\\ud83c"}}'])
def test_a_half_that_stays_alone_in_arguments_is_replaced(text: str) -> None:
    collector = Collector()
    collector.add(ToolCallChunk(0, "c", "look", text))
    collector.add(FinishChunk("tool_calls"))
    arguments = collector.message().tool_calls[0].arguments
    assert "\ufffd" in json.dumps(dict(arguments), ensure_ascii=False).encode().decode()


def test_a_half_does_not_wait_for_another_kind_of_piece() -> None:
    first, second = units_of("🍸")
    assert kept(TextChunk(first), ReasoningChunk(second), FinishChunk()) == [
        TextChunk("\ufffd"),
        ReasoningChunk("\ufffd"),
        FinishChunk(),
    ]
    assert kept(TextChunk(first)) == [TextChunk("\ufffd")]


def test_a_piece_without_halves_is_handed_on_as_it_is() -> None:
    chunk = TextChunk("naïve 世界 🍸", origin="o")
    assert kept(chunk)[0] is chunk


@given(st.text(), st.data())
def test_however_a_text_is_cut_its_pieces_are_texts_and_make_it_again(
    text: str, data: st.DataObject
) -> None:
    units = units_of(text)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(units)))))
    edges = [0, *cuts, len(units)]
    pieces = ["".join(units[a:b]) for a, b in itertools.pairwise(edges)]
    out = kept(*map(TextChunk, pieces))
    texts = [chunk.text for chunk in out if isinstance(chunk, TextChunk)]
    assert all(piece.encode() is not None for piece in texts)
    assert "".join(texts) == whole_text(text) == text
    collector = Collector()
    for piece in pieces:
        collector.add(TextChunk(piece))
    collector.add(FinishChunk())
    assert collector.message().text == text
