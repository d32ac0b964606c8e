"""The events of each format come in its own order, each item closed before the next begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentflow.messages import UsageChunk
from agentflow.mock import Chunking, MockCall, MockModel, MockReply, MockServer, Rule
from agentflow.testing import FixedClock
from tests.mock.wire import post

REPLY = MockReply(
    reasoning="hm",
    text="Hi.",
    calls=(MockCall("look", {"word": "a"}), MockCall("now")),
    usage=UsageChunk(
        input_tokens=10, output_tokens=4, cached_tokens=3, cache_write_tokens=2, reasoning_tokens=1
    ),
)
SAID = [{"role": "user", "content": "Hi."}]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    model = MockModel([Rule(reply=REPLY)], chunking=Chunking("whole"))
    with MockServer(model, clock=FixedClock()) as server:
        yield server


def test_chat_completions_tell_deltas_the_reason_the_usage_and_done(server: MockServer) -> None:
    body = {"model": "m", "messages": SAID, "stream": True}
    events = post(
        server, "/v1/chat/completions", {**body, "stream_options": {"include_usage": True}}
    ).events
    assert [name for name, _ in events] == [""] * len(events)
    *chunks, usage, done = [data for _, data in events]
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "Hi."},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"word": "a"}'}}]},
        {"tool_calls": [{"index": 1, "id": "call_2", "type": "function", "function": {"name": "now", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {},
    ]  # fmt: skip
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * 7 + ["tool_calls"]
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    assert done == "[DONE]"
    assert len({chunk["id"] for chunk in (*chunks, usage)}) == 1


def test_messages_tell_blocks_one_after_the_other_and_usage_first_and_last(
    server: MockServer,
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": SAID, "stream": True}
    events = post(server, "/v1/messages", body).events
    told: list[Any] = [
        (name, data.get("index"), data.get("delta") or data.get("content_block"))
        for name, data in events
    ]
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    assert told == [
        ("message_start", None, None),
        ("ping", None, None),
        ("content_block_start", 0, thinking),
        ("content_block_delta", 0, {"type": "thinking_delta", "thinking": "hm"}),
        ("content_block_delta", 0, {"type": "signature_delta", "signature": "mock-signature"}),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, {"type": "text", "text": ""}),
        ("content_block_delta", 1, {"type": "text_delta", "text": "Hi."}),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}),
        ("content_block_delta", 2, {"type": "input_json_delta", "partial_json": '{"word": "a"}'}),
        ("content_block_stop", 2, None),
        ("content_block_start", 3, {"type": "tool_use", "id": "call_2", "name": "now", "input": {}}),
        ("content_block_delta", 3, {"type": "input_json_delta", "partial_json": "{}"}),
        ("content_block_stop", 3, None),
        ("message_delta", None, {"stop_reason": "tool_use", "stop_sequence": None}),
        ("message_stop", None, None),
    ]  # fmt: skip
    start, delta = events[0][1]["message"], events[-2][1]
    # Here input tokens are those that have nothing to do with a cache.
    caches = {"cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    assert start["usage"] == {"input_tokens": 5, "output_tokens": 0, **caches}
    assert delta["usage"] == {
        "input_tokens": 5,
        "output_tokens": 4,
        **caches,
        "output_tokens_details": {"thinking_tokens": 1},
    }


def test_input_tokens_that_are_counted_are_told_first_too() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": SAID, "stream": True}
    with MockServer(MockModel([Rule(reply="Hello there.")])) as server:
        events = post(server, "/v1/messages", body).events
    assert events[0][1]["message"]["usage"] == {"input_tokens": 1, "output_tokens": 0}
    assert events[-2][1]["usage"] == {"input_tokens": 1, "output_tokens": 2}


def test_responses_tell_items_one_after_the_other_and_the_whole_at_last(server: MockServer) -> None:
    body = {"model": "m", "input": "Hi.", "stream": True}
    events = post(server, "/v1/responses", body).events
    assert [(name, data.get("output_index")) for name, data in events] == [
        ("response.created", None),
        ("response.in_progress", None),
        ("response.output_item.added", 0),
        ("response.reasoning_summary_part.added", 0),
        ("response.reasoning_summary_text.delta", 0),
        ("response.reasoning_summary_text.done", 0),
        ("response.reasoning_summary_part.done", 0),
        ("response.output_item.done", 0),
        ("response.output_item.added", 1),
        ("response.content_part.added", 1),
        ("response.output_text.delta", 1),
        ("response.output_text.done", 1),
        ("response.content_part.done", 1),
        ("response.output_item.done", 1),
        ("response.output_item.added", 2),
        ("response.function_call_arguments.delta", 2),
        ("response.function_call_arguments.done", 2),
        ("response.output_item.done", 2),
        ("response.output_item.added", 3),
        ("response.function_call_arguments.delta", 3),
        ("response.function_call_arguments.done", 3),
        ("response.output_item.done", 3),
        ("response.completed", None),
    ]
    whole = events[-1][1]["response"]
    done = [data["item"] for name, data in events if name == "response.output_item.done"]
    assert whole["output"] == done
    ids = {data["item_id"] for _, data in events if "item_id" in data}
    assert ids == {item["id"] for item in done}
    assert whole["usage"] == {
        "input_tokens": 10,
        "output_tokens": 4,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_an_answer_that_is_not_streamed_is_what_the_events_add_up_to(
    server: MockServer, path: str
) -> None:
    said: dict[str, Any] = {"input": SAID} if path == "/v1/responses" else {"messages": SAID}
    body = {"model": "m", "max_tokens": 9, **said}
    whole = post(server, path, body).data
    events = post(server, path, {**body, "stream": True}).events
    match path:
        case "/v1/responses":
            streamed = events[-1][1]["response"]
            kinds = [item["type"] for item in streamed["output"]]
            assert kinds == [item["type"] for item in whole["output"]]
            assert streamed["usage"] == whole["usage"]
            assert streamed.keys() == whole.keys()
        case "/v1/messages":
            starts = [data for name, data in events if name == "content_block_start"]
            kinds = [data["content_block"]["type"] for data in starts]
            assert kinds == [block["type"] for block in whole["content"]]
            assert whole["usage"] == events[-2][1]["usage"]
        case _:
            message = whole["choices"][0]["message"]
            assert (message["content"], message["reasoning_content"]) == ("Hi.", "hm")
            assert [call["id"] for call in message["tool_calls"]] == ["call_1", "call_2"]
