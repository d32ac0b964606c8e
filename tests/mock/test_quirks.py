"""Servers that speak a format almost: each quirk shows in the bytes, and the answer is the same to who survives it."""

from __future__ import annotations

from typing import Any, get_args

import openai
import pytest

from agentflow.mock import (
    MockModel,
    MockReply,
    MockServer,
    Quirk,
    Rule,
    call,
    calls,
)
from tests.mock.clients import FORMATS, Format
from tests.mock.wire import post

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
BODIES: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "Hi."}]},
    "responses": {"model": "m", "input": "Hi."},
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]},
}
MODEL = MockModel(
    [Rule(reply=calls(MockReply(text="Let me see."), call("look", word="ä"), call("now")))]
)


def streamed(quirk: Quirk, name: str = "chat") -> list[Any]:
    with MockServer(MODEL, quirks=[quirk]) as server:
        got = post(server, PATHS[name], {**BODIES[name], "stream": True})
    return [data for _, data in got.events]


def tool_calls(events: list[Any]) -> list[dict[str, Any]]:
    return [
        piece
        for data in events
        if data != "[DONE]"
        for choice in data["choices"]
        for piece in choice["delta"].get("tool_calls", ())
    ]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("quirk", "shown"), [("keep-alive", b": keep-alive\n"), ("crlf", b"\r\n")])
def test_comments_and_other_ends_of_lines_change_nothing_of_what_is_heard(
    name: str, quirk: Quirk, shown: bytes
) -> None:
    with MockServer(MODEL, quirks=[quirk]) as server:
        assert shown in post(server, PATHS[name], {**BODIES[name], "stream": True}).body
        format = Format(name, server)
        heard = format.ask("Hi.", stream=True)
        format.close()
    assert heard.text == "Let me see."
    assert [(name, arguments) for _, name, arguments in heard.calls] == [
        ("look", {"word": "ä"}),
        ("now", {}),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_that_is_cut_may_end_in_good_order(name: str) -> None:
    cut = MockModel([Rule(reply=MockReply(text="one two", fault="cut"))])
    with MockServer(cut, quirks=["clean-cut"]) as server:
        got = post(server, PATHS[name], {**BODIES[name], "stream": True})
    assert got.status == 200
    text = got.body.decode()
    assert "two" in text
    assert not any(end in text for end in ("[DONE]", "response.completed", "message_stop"))
    assert '"finish_reason":"stop"' not in text


def test_names_may_be_repeated_in_every_piece() -> None:
    pieces = tool_calls(streamed("names-repeated"))
    assert len(pieces) > 2
    assert all("name" in piece["function"] for piece in pieces)


def test_numbers_of_calls_may_have_gaps() -> None:
    assert {piece["index"] for piece in tool_calls(streamed("index-gaps"))} == {0, 2}


def test_all_calls_may_have_one_number_and_be_told_apart_by_their_ids() -> None:
    pieces = tool_calls(streamed("one-index"))
    assert {piece["index"] for piece in pieces} == {0}
    assert [piece["id"] for piece in pieces if "id" in piece] == ["call_1", "call_2"]


def test_calls_may_have_no_ids() -> None:
    assert not [piece for piece in tool_calls(streamed("no-call-ids")) if "id" in piece]
    with MockServer(MODEL, quirks=["no-call-ids"]) as server:
        message = post(server, PATHS["chat"], BODIES["chat"]).data["choices"][0]["message"]
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["look", "now"]
    assert all("id" not in call for call in message["tool_calls"])


def test_chunks_may_come_without_choices() -> None:
    events = streamed("empty-choices")
    assert events[0]["choices"] == events[-2]["choices"] == []


def test_the_reason_to_stop_may_be_missing() -> None:
    events = streamed("no-finish-reason")
    assert {choice["finish_reason"] for data in events[:-1] for choice in data["choices"]} == {None}
    with MockServer(MODEL, quirks=["no-finish-reason"]) as server:
        whole = post(server, PATHS["chat"], BODIES["chat"]).data
    assert whole["choices"][0]["finish_reason"] is None


def test_usage_may_come_with_the_reason_to_stop() -> None:
    last = streamed("usage-with-finish")[-2]
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert last["usage"]["prompt_tokens"] == 1


def test_the_stream_may_end_without_done() -> None:
    assert "[DONE]" not in streamed("no-done")
    assert streamed("keep-alive")[-1] == "[DONE]"


@pytest.mark.parametrize("quirk", get_args(Quirk))
def test_the_vendors_own_client_reads_every_stream(quirk: Quirk) -> None:
    with (
        MockServer(MODEL, quirks=[quirk]) as server,
        openai.OpenAI(base_url=server.openai_url, api_key="any", max_retries=0) as client,
    ):
        question: Any = BODIES["chat"]
        said = "".join(
            choice.delta.content or ""
            for event in client.chat.completions.create(stream=True, **question)
            for choice in event.choices
        )
    assert said == "Let me see."


def test_an_unknown_quirk_is_told() -> None:
    with pytest.raises(ValueError, match="there is no quirk 'odd'; there are 'keep-alive', 'crlf'"):
        MockServer(MODEL, quirks=["odd"])  # type: ignore[list-item]
