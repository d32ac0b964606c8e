"""The mock server opens and closes cleanly, from code that is async and from code that is not."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agentflow.messages import UsageChunk, user
from agentflow.mock import Chunking, MockModel, MockServer, Rule, word_usage
from agentflow.testing import FixedClock
from tests.mock.wire import PATIENCE, get, post

CHAT = "/v1/chat/completions"
BODY = {"model": "any", "messages": [{"role": "user", "content": "Hi."}]}
MODEL = MockModel([Rule(reply="Hello.")])


def answered(server: MockServer) -> bool:
    return "Hello." in post(server, CHAT, BODY).body.decode()


def connects(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except ConnectionRefusedError:
        return False


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agentflow mock server"]


@pytest.mark.rule("R351")
def test_it_answers_on_a_free_port_until_it_is_closed_and_the_port_is_free_again() -> None:
    with MockServer(MODEL) as server:
        port = server.port
        assert answered(server)
    assert not connects(port)
    assert not threads()
    with MockServer(MODEL, port=port) as again:
        assert again.port == port
        assert answered(again)


def test_no_event_waits_until_the_client_has_told_that_it_got_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from agentflow.mock.server.connection import ConnectionProtocol

    begin = ConnectionProtocol.connection_made
    at_once: list[int] = []

    def noted(self: ConnectionProtocol, transport: Any) -> None:
        begin(self, transport)
        sock = transport.get_extra_info("socket")
        at_once.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(ConnectionProtocol, "connection_made", noted)
    with MockServer(MODEL) as server:
        assert answered(server)
    assert at_once == [1]


@pytest.mark.rule("R351")
async def test_it_opens_and_closes_inside_of_async_code() -> None:
    async with MockServer(MODEL) as server:
        assert await anyio.to_thread.run_sync(answered, server)
        port = server.port
    assert not connects(port)
    assert not threads()


async def test_it_is_closed_when_the_block_is_cancelled() -> None:
    with anyio.CancelScope() as scope:
        async with MockServer(MODEL) as server:
            port = server.port
            scope.cancel()
            await anyio.sleep_forever()
    assert not connects(port)
    assert not threads()


def test_opening_twice_is_nothing_and_so_is_closing_twice() -> None:
    server = MockServer(MODEL)
    server.close()
    assert server.open() is server.open()
    assert len(threads()) == 1
    server.close()
    server.close()
    assert not threads()
    with server:
        assert answered(server)


def test_a_connection_that_a_client_keeps_does_not_keep_the_server() -> None:
    with MockServer(MODEL) as server:
        kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        kept.request("GET", "/v1/models")
        kept.getresponse().read()
        server.close()
        assert kept.sock.recv(1) == b""
        kept.close()


def test_a_connection_that_was_just_made_is_not_left_behind() -> None:
    for _ in range(20):
        with MockServer(MODEL) as server:
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            server.close()
        with connection, contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_it_is_reached_over_loopback_only() -> None:
    with MockServer(MODEL) as server:
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert server.openai_url == f"{server.url}/v1"
        assert repr(server) == f"<MockServer {server.url}>"
    assert repr(server) == "<MockServer closed>"


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_it_listens_on_ipv6_too() -> None:
    try:
        server = MockServer(MODEL, host="::1").open()
    except OSError:
        pytest.skip("the loopback interface has no IPv6 here")
    with server:
        assert server.url == f"http://[::1]:{server.port}"


def test_a_port_that_is_taken_is_told_to_whoever_opens() -> None:
    with MockServer(MODEL) as server, pytest.raises(OSError, match="in use"):
        MockServer(MODEL, port=server.port).open()
    assert not threads()


def test_two_servers_do_not_know_each_other() -> None:
    with (
        MockServer(MockModel([Rule(reply="Hello.")])) as one,
        MockServer(MockModel([Rule(reply="Bye.")])) as other,
    ):
        assert answered(one)
        assert not answered(other)
        assert (len(one.received), len(other.received)) == (1, 1)


def test_before_it_is_open_it_has_no_address() -> None:
    with pytest.raises(RuntimeError, match=r"not open: use it in a `with`, or call open\(\)"):
        _ = MockServer(MODEL).url


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r"pip install 'agentflow\[mock\]'"):
        MockServer(MODEL).open()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mock:echo"}, r"MockServer\('mock:echo'\): it is no model"),
        ({"names": "gpt"}, "it is a list of names"),
    ],
)
def test_a_mistake_is_told_when_it_is_made(options: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        MockServer(**{"model": MODEL, **options})  # type: ignore[arg-type]


def test_what_came_over_the_wire_is_kept() -> None:
    with MockServer(MODEL, keep=1) as server:
        post(server, CHAT, {**BODY, "temperature": 0.5})
        post(server, CHAT, {**BODY, "seed": 7}, x_mine="yes")
    (served,) = server.received
    assert (served.method, served.path) == ("POST", CHAT)
    assert served.headers["x-mine"] == "yes"
    assert served.body == {**BODY, "seed": 7}
    assert dict(MODEL.requests[-1].context.parameters) == {"model": "any", "seed": 7}
    assert MODEL.requests[-1].model == "any"


def test_who_wants_to_know_is_told_of_each_request() -> None:
    told: list[str] = []
    with MockServer(MODEL, told=lambda served, how: told.append(f"{served.path} {how}")) as server:
        post(server, CHAT, BODY)
        post(server, CHAT, b"{")
        get(server, "/v1/models")
    assert told == [f"{CHAT} 200", f"{CHAT} 400", "/v1/models 200"]


def test_answers_are_stamped_by_the_clock_and_numbered() -> None:
    with MockServer(MODEL, clock=FixedClock()) as server:
        first, second = post(server, CHAT, BODY).data, post(server, CHAT, BODY).data
    assert first["created"] == int(FixedClock().now().timestamp())
    assert [first["id"], second["id"]] == ["chatcmpl-mock-1", "chatcmpl-mock-2"]


def test_models_are_listed_as_each_vendor_lists_them() -> None:
    with MockServer(MODEL, names=["small", "org/large"]) as server:
        openai = get(server, "/v1/models").data
        anthropic = get(server, "/v1/models", anthropic_version="2023-06-01").data
        one = get(server, "/v1/models/org/large").data
        lost = get(server, "/v1/models/huge")
    assert [entry["id"] for entry in openai["data"]] == ["small", "org/large"]
    assert openai["object"] == "list"
    assert [entry["id"] for entry in anthropic["data"]] == ["small", "org/large"]
    assert anthropic["data"][0]["type"] == "model"
    assert (one["id"], one["object"]) == ("org/large", "model")
    assert lost.status == 404
    assert "there are 'small', 'org/large'" in lost.data["error"]["message"]


def test_input_tokens_are_counted_as_answers_tell_them() -> None:
    words = {"model": "m", "messages": [{"role": "user", "content": "one two three"}]}
    with MockServer(MODEL) as server:
        messages = post(server, "/v1/messages/count_tokens", words).data
        response = post(server, "/v1/responses/input_tokens", {"model": "m", "input": "one"}).data
        answer = post(server, "/v1/messages", {**words, "max_tokens": 9}).data
    assert messages == {"input_tokens": 3}
    assert response == {"input_tokens": 1, "object": "response.input_tokens"}
    assert answer["usage"] == {"input_tokens": 3, "output_tokens": 1}


def test_input_tokens_are_those_that_the_model_reports() -> None:
    words = {"model": "m", "messages": [{"role": "user", "content": "one two three"}]}
    model = MockModel([Rule(reply="Hello.")], usage=UsageChunk(input_tokens=77))
    with MockServer(model) as server:
        assert post(server, "/v1/messages/count_tokens", words).data == {"input_tokens": 77}


def test_a_server_may_tell_no_usage() -> None:
    streamed = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    with MockServer(MODEL, usage=None) as server:
        chat = post(server, CHAT, BODY).data
        events = post(server, CHAT, streamed).events
        message = post(server, "/v1/messages", {**BODY, "max_tokens": 9}).data
    assert chat["usage"] is None
    assert all("usage" not in data for _, data in events[:-1])
    assert message["usage"] == {"input_tokens": None, "output_tokens": None}


def test_a_stream_tells_usage_only_to_who_asks() -> None:
    with MockServer(MODEL) as server:
        events = post(server, CHAT, {**BODY, "stream": True}).events
    assert all("usage" not in data for _, data in events[:-1])


def test_words_are_counted_in_everything_that_is_said() -> None:
    from agentflow import CancelSignal, ModelContext
    from agentflow.messages import ToolCall, assistant, tool_result
    from agentflow.mock import MockCall, MockReply, MockRequest

    call = ToolCall("c1", "look", {"word": "a b"})
    messages = (user("one two"), assistant("three", tool_calls=[call]), tool_result(call, "four"))
    context = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="c")
    reply = MockReply(text="five six", reasoning="hm", calls=(MockCall("look", {"word": "a"}),))
    usage = word_usage(MockRequest(messages, context), reply)
    assert (usage.input_tokens, usage.output_tokens) == (2 + 1 + 1 + 3 + 1, 2 + 1 + 1 + 2)


def test_blocks_may_be_cut_in_any_way_and_say_the_same() -> None:
    for blocks in (Chunking("bytes", 1), Chunking("whole"), Chunking("bytes", 50, seed=3)):
        with MockServer(MODEL, blocks=blocks) as server:
            assert answered(server)
