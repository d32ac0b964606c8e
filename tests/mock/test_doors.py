"""The same rules give the same text through every door: as data, as a provider, by ASGI, and over a socket."""

from __future__ import annotations

import json
from typing import Any

import anyio.to_thread
import pytest

from agentflow import CancelSignal, ModelContext
from agentflow.messages import Collector, user
from agentflow.mock import Chunking, MockModel, MockReply, MockRequest, MockServer, Rule, call
from tests.mock.wire import fetch, post

CONTEXT = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="r/n#1/model:1.1")
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "Hi."}]},
    "/v1/responses": {"model": "m", "input": "Hi."},
    "/v1/messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi."}],
    },
}


def said_in(path: str, data: Any) -> str:
    match path:
        case "/v1/chat/completions":
            return str(data["choices"][0]["message"]["content"])
        case "/v1/responses":
            return "".join(part["text"] for item in data["output"] for part in item["content"])
        case _:
            return "".join(block["text"] for block in data["content"])


@pytest.mark.rule("R349")
@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("reply", ["Grüße, 世界.", {"a": [1, None]}, lambda asked: asked.text * 2])
async def test_the_same_rules_give_the_same_text_through_every_door(path: str, reply: Any) -> None:
    model = MockModel([Rule(reply=reply)])
    data = model.generate(MockRequest((user("Hi."),), CONTEXT))
    collector = Collector()
    async for chunk in model.stream((user("Hi."),), CONTEXT):
        collector.add(chunk)
    async with MockServer(model) as server:
        fetched = await fetch(server, path, BODIES[path])
        over_socket = await anyio.to_thread.run_sync(post, server, path, BODIES[path])
    assert fetched.status == over_socket.status == 200
    assert (
        data.text
        == collector.message().text
        == said_in(path, fetched.data)
        == said_in(path, over_socket.data)
    )


@pytest.mark.rule("R349")
@pytest.mark.parametrize("path", BODIES)
async def test_the_application_speaks_http_and_events_without_a_server(path: str) -> None:
    model = MockModel([Rule(reply=call("look", x="é"))])
    whole = await fetch(MockServer(model), path, BODIES[path])
    assert whole.headers["content-type"] == "application/json"
    assert int(whole.headers["content-length"]) == len(whole.body)
    streamed = await fetch(MockServer(model), path, {**BODIES[path], "stream": True})
    assert streamed.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert len(streamed.events) > 3
    assert all(
        name == data["type"] for name, data in streamed.events if path != "/v1/chat/completions"
    )


@pytest.mark.parametrize("fault", ["cut", "reset"])
@pytest.mark.parametrize("stream", [False, True])
async def test_without_our_server_a_broken_connection_is_an_error_of_the_application(
    fault: Any, stream: bool
) -> None:
    server = MockServer(MockModel([Rule(reply=MockReply(text="a", fault=fault))]))
    body = {**BODIES["/v1/messages"], "stream": stream}
    with pytest.raises(ConnectionError, match=f"on purpose: {fault}"):
        await fetch(server, "/v1/messages", body)


@pytest.mark.rule("R352")
@pytest.mark.parametrize("path", BODIES)
async def test_blocks_of_bytes_come_apart_inside_of_characters_and_join_to_the_same_body(
    path: str,
) -> None:
    model = MockModel([Rule(reply="Grüße, 世界 👋.")])
    body = {**BODIES[path], "stream": True}
    blocks: list[bytes] = []

    class Watched(Chunking):
        def cut_bytes(self, data: bytes) -> Any:
            for block in super().cut_bytes(data):
                blocks.append(block)
                yield block

    plain = await fetch(MockServer(model), path, body)
    cut = await fetch(MockServer(model, blocks=Watched("bytes", 3, seed=1)), path, body)
    texts = [json.dumps(event, ensure_ascii=False) for event in plain.events]
    again = [json.dumps(event, ensure_ascii=False) for event in cut.events]
    assert len(again) == len(texts)
    assert b"".join(blocks) == cut.body
    assert {len(block) for block in blocks} == {1, 2, 3}
    assert any(_is_no_text(block) for block in blocks)


def _is_no_text(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return True
    return False
