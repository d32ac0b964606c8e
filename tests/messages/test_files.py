"""Files go with messages by content or by address, are known again by their content, and count no characters."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from agentflow import Message
from agentflow.graph.codec import decoded, encoded
from agentflow.graph.frozen import shared
from agentflow.messages import (
    Collector,
    FilePart,
    FinishChunk,
    ReasoningChunk,
    ReasoningPart,
    ToolCall,
    ToolCallChunk,
    tool_result,
    user,
)
from agentflow.models.replay import chunks_of

PNG = FilePart("image/png", b"\x89PNG", name="dot.png")


def test_a_file_goes_with_what_the_user_says() -> None:
    message = user("What is this?", files=[PNG])
    assert (message.text, message.files, message.chars) == ("What is this?", (PNG,), 13)


def test_a_tool_may_give_files_besides_its_text() -> None:
    call = ToolCall("c", "draw")
    (result,) = tool_result(call, "done", files=[PNG]).tool_results
    assert (result.files, result.content) == ((PNG,), "done")


def test_a_file_is_told_by_content_or_by_address() -> None:
    assert PNG.data_url == "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    assert (PNG.family, PNG.base64) == ("image", "iVBORw==")
    lies = FilePart("image/png", url="https://example.org/a.png")
    assert (lies.data_url, lies.base64) == ("https://example.org/a.png", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"media_type": "png", "data": b""}, "media_type='png' is none"),
        ({"media_type": "image/png"}, "has either data, .* or url"),
        ({"media_type": "image/png", "data": b"", "url": "x"}, "has either data"),
    ],
)
def test_a_file_that_is_none_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FilePart(**options)


def test_a_file_is_read_with_its_name_and_type(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    assert FilePart.read(tmp_path / "a.pdf") == FilePart("application/pdf", b"%PDF", name="a.pdf")
    (tmp_path / "what").write_bytes(b"")
    with pytest.raises(ValueError, match="does not tell its media type"):
        FilePart.read(tmp_path / "what")


def test_a_message_with_a_file_is_known_again_and_does_not_spell_it_out() -> None:
    big = FilePart("image/png", b"x" * 100_000)
    assert len(repr(user("", files=[big]))) < 300
    assert user("", files=[big]).digest == user("", files=[FilePart("image/png", big.data)]).digest
    assert user("", files=[big]).digest != user("", files=[FilePart("image/png", b"y")]).digest


def test_messages_with_files_and_vendor_data_survive_storage() -> None:
    reasoning = ReasoningPart("hm", {"vendor": "v", "signature": "s"})
    call = ToolCall("c", "t", {"a": 1}, vendor_data={"vendor": "v"})
    messages = [user("Hi.", files=[PNG]), Message("assistant", (reasoning, call), "model")]
    assert [decoded(encoded(message)) for message in messages] == messages
    assert all(map(shared, messages))
    adapter = TypeAdapter(list[Message])
    assert adapter.validate_json(adapter.dump_json(messages)) == messages


def test_what_a_vendor_wants_back_ends_its_part_and_comes_again() -> None:
    collector = Collector("key")
    for chunk in (
        ReasoningChunk("one"),
        ReasoningChunk("", vendor_data={"vendor": "v", "signature": "1"}),
        ReasoningChunk("two"),
        ReasoningChunk("", vendor_data={"vendor": "v", "signature": "2"}),
        ReasoningChunk("", vendor_data={"vendor": "v", "hidden": "3"}),
        ToolCallChunk(0, "c", "t", vendor_data={"vendor": "v", "x": "4"}),
        FinishChunk("tool_calls"),
    ):
        collector.add(chunk)
    message = collector.message()
    told = [
        (part.text, dict(part.vendor_data or {}))
        for part in message.content
        if isinstance(part, ReasoningPart)
    ]
    assert told == [
        ("one", {"vendor": "v", "signature": "1"}),
        ("two", {"vendor": "v", "signature": "2"}),
        ("", {"vendor": "v", "hidden": "3"}),
    ]
    assert message.tool_calls[0].vendor_data == {"vendor": "v", "x": "4"}
    again = Collector("key")
    for replayed in chunks_of(message):
        again.add(replayed)
    assert again.message() == message
