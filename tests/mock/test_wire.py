"""What is no request is refused in the format's own words, and names the place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow.messages import (
    Chunk,
    FilePart,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
)
from agentflow.mock import MockCall, MockModel, MockReply, MockServer, Rule
from agentflow.mock.wire.gathering import Gathering
from tests.mock.wire import get, post

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
SAID = [{"role": "user", "content": "Hi."}]
CHAT_OK: dict[str, Any] = {"model": "m", "messages": SAID}
RESPONSES_OK: dict[str, Any] = {"model": "m", "input": SAID}
MESSAGES_OK: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": SAID}
BUILT_IN = {"type": "web_search"}

model = MockModel([Rule(reply="Hello.")])


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(model) as server:
        yield server


BAD: list[tuple[str, Any, str]] = [
    (CHAT, [], "the body is no JSON object"),
    (CHAT, {"messages": SAID}, "model: it is missing; it is a text"),
    (CHAT, {"model": 3, "messages": SAID}, "model: it is not a text"),
    (CHAT, {"model": "m"}, "messages: it is missing; it is a list"),
    (CHAT, {"model": "m", "messages": []}, "messages: it is empty"),
    (CHAT, {"model": "m", "messages": ["Hi."]}, "messages[0]: it is not an object"),
    (
        CHAT,
        {"model": "m", "messages": [{"role": "user", "content": 3}]},
        "messages[0].content: it is neither a text nor a list of blocks",
    ),
    (
        CHAT,
        {"model": "m", "messages": [{"role": "robot", "content": ""}]},
        "messages[0].role: 'robot' is none of",
    ),
    (
        CHAT,
        {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c9", "content": ""}]},
        "messages[0].tool_call_id: no tool call before it has the id 'c9'",
    ),
    (CHAT, {**CHAT_OK, "n": 2}, "n: the mock server gives one choice"),
    (CHAT, {**CHAT_OK, "stream": "yes"}, "stream: it is not true or false"),
    (CHAT, {**CHAT_OK, "functions": [{}]}, "functions: it is an older form of 'tools'"),
    (CHAT, {**CHAT_OK, "max_tokens": "9"}, "max_tokens: it is not a whole number"),
    (CHAT, {**CHAT_OK, "max_tokens": True}, "max_tokens: it is not a whole number"),
    (CHAT, {**CHAT_OK, "tools": [BUILT_IN]}, "tools[0].type: the mock server knows tools"),
    (
        CHAT,
        {**CHAT_OK, "tool_choice": {"type": "function", "function": {"name": "look"}}},
        "tool_choice: no tool 'look' is offered",
    ),
    (CHAT, {**CHAT_OK, "tool_choice": 3}, "tool_choice: it is none of 'auto'"),
    (
        CHAT,
        {**CHAT_OK, "response_format": {"type": "yaml"}},
        "response_format.type: 'yaml' is none of",
    ),
    (
        CHAT,
        {**CHAT_OK, "response_format": {"type": "json_schema", "json_schema": {}}},
        "response_format.json_schema.schema: it is missing; it is an object",
    ),
    (RESPONSES, {"model": "m"}, "input: it is missing; it is a list"),
    (RESPONSES, {"model": "m", "input": []}, "input: it is empty"),
    (RESPONSES, {**RESPONSES_OK, "background": True}, "background: the mock server does not"),
    (
        RESPONSES,
        {**RESPONSES_OK, "previous_response_id": "resp_9"},
        "previous_response_id: there is no response 'resp_9'",
    ),
    (
        RESPONSES,
        {"model": "m", "input": [{"type": "item_reference", "id": "x"}]},
        "input[0].type: items of the type 'item_reference' are not known here",
    ),
    (
        RESPONSES,
        {"model": "m", "input": [{"role": "robot", "content": ""}]},
        "input[0].role: 'robot' is none of",
    ),
    (
        RESPONSES,
        {
            "model": "m",
            "input": [{"type": "function_call_output", "call_id": "c9", "output": ""}],
        },
        "input[0].call_id: no tool call before it has the id 'c9'",
    ),
    (RESPONSES, {**RESPONSES_OK, "tools": [BUILT_IN]}, "tools[0].type: the mock server knows"),
    (MESSAGES, CHAT_OK, "max_tokens: it is missing or less than 1"),
    (
        MESSAGES,
        {**MESSAGES_OK, "messages": [{"role": "robot", "content": ""}]},
        "messages[0].role: 'robot' is none of",
    ),
    (
        MESSAGES,
        {
            **MESSAGES_OK,
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c9", "content": ""}],
                }
            ],
        },
        "messages[0].content[0].tool_use_id: no tool call before it has the id 'c9'",
    ),
    (
        MESSAGES,
        {**MESSAGES_OK, "tool_choice": {"type": "some"}},
        "tool_choice.type: 'some' is none of",
    ),
    (
        MESSAGES,
        {**MESSAGES_OK, "tool_choice": {"type": "tool", "name": "look"}},
        "tool_choice.name: no tool 'look' is offered",
    ),
    (MESSAGES, {**MESSAGES_OK, "tools": [BUILT_IN]}, "tools[0].type: the mock server knows"),
    (
        MESSAGES,
        {**MESSAGES_OK, "output_config": {"format": {"type": "yaml"}}},
        "output_config.format.type: 'yaml' is not 'json_schema'",
    ),
]


@pytest.mark.parametrize(("path", "body", "message"), BAD, ids=[said for _, _, said in BAD])
def test_what_is_no_request_is_refused_and_the_place_is_named(
    server: MockServer, path: str, body: Any, message: str
) -> None:
    got = post(server, path, body)
    assert got.status == 400
    error = got.data["error"]
    assert error["message"].startswith(message)
    assert error["type"] == "invalid_request_error"
    if path != MESSAGES and ": " in message:
        assert error["param"] == message.partition(": ")[0]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(server: MockServer, body: bytes) -> None:
    got = post(server, CHAT, body)
    assert (got.status, got.data["error"]["message"]) == (400, "the body is no JSON object")
    assert server.received[-1].body is None


def test_a_path_that_is_not_there_is_told_with_what_to_do(server: MockServer) -> None:
    got = post(server, "/chat/completions", CHAT_OK)
    assert got.status == 404
    assert got.data["error"]["message"] == (
        "the mock server has no POST /chat/completions; OpenAI's clients need a base URL that ends in /v1"
    )
    wrong_method = get(server, CHAT)
    assert wrong_method.status == 405
    assert wrong_method.data["error"]["message"] == f"the mock server has no GET {CHAT}"
    assert get(server, "/v1/messages/batches").data["type"] == "error"


def test_a_response_goes_on_from_an_earlier_one_without_its_instructions(
    server: MockServer,
) -> None:
    first = post(server, RESPONSES, {**RESPONSES_OK, "instructions": "Be brief."}).data
    more = {"model": "m", "input": "More.", "previous_response_id": first["id"]}
    second = post(server, RESPONSES, more).data
    assert second["previous_response_id"] == first["id"]
    said = [(message.role, message.text) for message in model.requests[-1].messages]
    assert said == [("user", "Hi."), ("assistant", "Hello."), ("user", "More.")]
    post(server, RESPONSES, {**more, "previous_response_id": second["id"]})
    assert model.requests[-1].turn == 3


def test_a_response_that_is_not_to_be_kept_is_not(server: MockServer) -> None:
    first = post(server, RESPONSES, {**RESPONSES_OK, "store": False}).data
    got = post(server, RESPONSES, {**RESPONSES_OK, "previous_response_id": first["id"]})
    assert got.status == 400


def test_allowed_tools_leave_only_those(server: MockServer) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in ("look", "find")
    ]
    allowed = {"mode": "required", "tools": [tools[1]]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    assert post(server, CHAT, {**CHAT_OK, "tools": tools, "tool_choice": choice}).status == 200
    asked = model.requests[-1]
    assert (asked.tools, asked.context.tool_choice, asked.forced_tool) == (
        ("find",),
        "required",
        "find",
    )


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_json_without_a_schema_is_any_object(server: MockServer, path: str) -> None:
    form = {"type": "json_object"}
    more = {"response_format": form} if path == CHAT else {"text": {"format": form}}
    post(server, path, {**(CHAT_OK if path == CHAT else RESPONSES_OK), **more})
    assert model.requests[-1].context.output_schema == {"type": "object"}


PIXEL = "iVBORw0K"
PNG = b"\x89PNG\r\n"
FILES: list[tuple[str, dict[str, Any], FilePart]] = [
    (
        CHAT,
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        FilePart("image/png", PNG),
    ),
    (
        CHAT,
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png?s=1"}},
        FilePart("image/png", url="https://example.org/a.png?s=1"),
    ),
    (
        CHAT,
        {"type": "image_url", "image_url": {"url": "https://example.org/image"}},
        FilePart("image/*", url="https://example.org/image"),
    ),
    (
        CHAT,
        {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}},
        FilePart("audio/wav", PNG),
    ),
    (
        CHAT,
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"},
        },
        FilePart("application/pdf", PNG, name="a.pdf"),
    ),
    (
        RESPONSES,
        {"type": "input_image", "image_url": "https://example.org/a.gif"},
        FilePart("image/gif", url="https://example.org/a.gif"),
    ),
    (
        RESPONSES,
        {"type": "input_file", "filename": "a.pdf", "file_url": "https://example.org/a"},
        FilePart("application/pdf", url="https://example.org/a", name="a.pdf"),
    ),
    (
        MESSAGES,
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        FilePart("image/png", PNG),
    ),
    (
        MESSAGES,
        {"type": "document", "source": {"type": "url", "url": "https://example.org/paper"}},
        FilePart("application/pdf", url="https://example.org/paper"),
    ),
    (
        MESSAGES,
        {"type": "document", "title": "Notes", "source": {"type": "text", "data": "Ä"}},
        FilePart("text/plain", "Ä".encode(), name="Notes"),
    ),
]


def body_with(path: str, block: dict[str, Any]) -> dict[str, Any]:
    text = "input_text" if path == RESPONSES else "text"
    said = [{"role": "user", "content": [{"type": text, "text": "This?"}, block]}]
    rest = {"max_tokens": 9} if path == MESSAGES else {}
    return {"model": "m", "input" if path == RESPONSES else "messages": said, **rest}


@pytest.mark.parametrize(("path", "block", "file"), FILES)
def test_a_file_is_what_the_body_says(
    server: MockServer, path: str, block: dict[str, Any], file: FilePart
) -> None:
    assert post(server, path, body_with(path, block)).status == 200
    assert model.requests[-1].files == (file,)
    assert model.requests[-1].text == "This?"


@pytest.mark.parametrize(
    ("path", "block", "message"),
    [
        (
            CHAT,
            {"type": "file", "file": {"file_id": "f1"}},
            "file.file_id: a file that a vendor keeps",
        ),
        (
            CHAT,
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}},
            "image_url.url: it holds no file",
        ),
        (CHAT, {"type": "image_url", "image_url": {}}, "image_url.url: it is missing"),
        (
            MESSAGES,
            {"type": "image", "source": {"type": "file", "file_id": "f1"}},
            "source.type: 'file' is none of",
        ),
    ],
)
def test_a_file_that_is_none_is_refused(
    server: MockServer, path: str, block: dict[str, Any], message: str
) -> None:
    got = post(server, path, body_with(path, block))
    assert got.status == 400
    assert message in got.data["error"]["message"]


def test_files_of_tool_results_come_with_them(server: MockServer) -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [image]}
    said = [
        *SAID,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    post(server, MESSAGES, {**MESSAGES_OK, "messages": said})
    (found,) = model.requests[-1].tool_results
    assert (found.content, found.files) == ("", (FilePart("image/png", PNG),))
    assert model.requests[-1].files == found.files


def test_what_a_vendor_wants_back_comes_and_goes_as_it_is() -> None:
    """A real model of Anthropic's may stand behind the server: its thinking is signed, or sealed."""
    signed = {"vendor": "anthropic", "signature": "abc"}
    sealed = {"vendor": "anthropic", "data": "xyz"}

    class Real:
        async def stream(self, messages: Any, context: Any) -> AsyncIterator[Chunk]:
            self.asked = messages
            yield ReasoningChunk("hm")
            yield ReasoningChunk("", vendor_data=signed)
            yield ReasoningChunk("", vendor_data=sealed)
            yield TextChunk("42")
            yield FinishChunk()

    real = Real()
    with MockServer(real) as server:
        blocks = post(server, MESSAGES, MESSAGES_OK).data["content"]
        said = [*SAID, {"role": "assistant", "content": blocks}, *SAID]
        events = post(server, MESSAGES, {**MESSAGES_OK, "messages": said, "stream": True}).events
    assert blocks == [
        {"type": "thinking", "thinking": "hm", "signature": "abc"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "42"},
    ]
    thought, hidden, _ = real.asked[1].content
    assert (thought.text, thought.vendor_data) == ("hm", signed)
    assert (hidden.text, hidden.vendor_data) == ("", sealed)
    deltas = [data["delta"] for name, data in events if name == "content_block_delta"]
    assert {"type": "signature_delta", "signature": "abc"} in deltas
    starts = [data["content_block"] for name, data in events if name == "content_block_start"]
    assert starts[1] == {"type": "redacted_thinking", "data": "xyz"}


@pytest.mark.parametrize("arguments", ["", "[1]", '{"word": "a', "null"])
@pytest.mark.parametrize(
    ("path", "body"), [(CHAT, CHAT_OK), (RESPONSES, RESPONSES_OK), (MESSAGES, MESSAGES_OK)]
)
def test_arguments_that_are_broken_on_purpose_arrive_as_they_are(
    path: str, body: dict[str, Any], arguments: str
) -> None:
    rules = MockModel([Rule(reply=MockReply(calls=(MockCall("look", arguments),)))])
    with MockServer(rules) as server:
        whole = post(server, path, body).data
        events = post(server, path, {**body, "stream": True}).events
    match path:
        case "/v1/chat/completions":
            (call,) = whole["choices"][0]["message"]["tool_calls"]
            assert call["function"]["arguments"] == arguments
            deltas = [data["choices"][0]["delta"] for _, data in events[:-1]]
            pieces = [
                each["function"]["arguments"]
                for delta in deltas
                for each in delta.get("tool_calls", ())
            ]
        case "/v1/responses":
            assert whole["output"][0]["arguments"] == arguments
            deltas = [data for name, data in events if name.endswith("arguments.delta")]
            pieces = [data["delta"] for data in deltas]
        case _:
            wanted: Any = {"": {}, "[1]": [1], "null": None}.get(arguments, arguments)
            assert whole["content"][0]["input"] == wanted
            pieces = [
                data["delta"]["partial_json"]
                for name, data in events
                if name == "content_block_delta"
            ]
    assert "".join(pieces) == arguments


CHUNKS = st.lists(
    st.one_of(
        st.text(max_size=3).map(TextChunk),
        st.text(max_size=3).map(ReasoningChunk),
        st.builds(
            ToolCallChunk,
            st.integers(0, 2),
            st.none() | st.sampled_from(["c1", "c2"]),
            st.none() | st.just("look"),
            st.text(max_size=3),
        ),
    )
)


@given(CHUNKS)
def test_what_is_gathered_is_what_came(chunks: list[Any]) -> None:
    gathering = Gathering()
    grown: dict[int, str] = {}
    for chunk in [*chunks, FinishChunk()]:
        growth = gathering.add(chunk)
        if growth is not None:
            grown.setdefault(growth.item.index, "")
            grown[growth.item.index] += growth.piece
    assert gathering.finish == "stop"
    assert [item.text for item in gathering.items] == [grown[at] for at in sorted(grown)]
    assert [item.index for item in gathering.items] == list(range(len(gathering.items)))
    assert gathering.text() == "".join(c.text for c in chunks if isinstance(c, TextChunk))
    assert gathering.text("reasoning") == "".join(
        c.text for c in chunks if isinstance(c, ReasoningChunk)
    )
    assert all(json.dumps(item.arguments) is not None for item in gathering.of("call"))
