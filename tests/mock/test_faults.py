"""What goes wrong on purpose goes wrong for the vendors' own clients as it does with the real thing."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx2
import openai
import pytest

from agentflow import (
    Model,
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agentflow.messages import Chunk, Message, TextChunk
from agentflow.mock import (
    MalformedAnswer,
    MockCall,
    MockModel,
    MockReply,
    MockRequest,
    MockServer,
    Refused,
    Rule,
)
from agentflow.models.failure import failure_of
from agentflow.models.ports import ModelContext
from agentflow.testing import FixedClock, fake_context
from tests.mock.clients import FORMATS, Format, Heard
from tests.mock.wire import PATIENCE, post

# OpenAI's asynchronous client does not close its generators when it reads `[DONE]`.
pytestmark = [
    pytest.mark.usefixtures("quick_collections"),
    pytest.mark.filterwarnings("ignore:Async generator '(openai|httpx2|httpcore2):ResourceWarning"),
]

Ask = Callable[..., Awaitable[Heard]]

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
BODIES: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "Hi."}]},
    "responses": {"model": "m", "input": "Hi."},
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]},
}


def serving(*replies: Any, **options: Any) -> MockServer:
    """A server that gives these replies, one after the other."""
    return MockServer(MockModel([Rule(reply=list(replies))], **options))


@pytest.fixture(scope="module", params=["sync", "asyncio", "trio"])
def way(request: pytest.FixtureRequest) -> str:
    """With the synchronous client, or with the asynchronous one on a backend."""
    return str(request.param)


@pytest.fixture(scope="module")
def anyio_backend(way: str) -> str:
    return "asyncio" if way == "sync" else way


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


@pytest.fixture
def ask(way: str, name: str, stream: bool) -> Ask:
    """Ask a server with one of the vendors' clients."""

    async def sync(server: MockServer, prompt: str = "Hi.", retries: int = 0) -> Heard:
        format = Format(name, server, retries)
        try:
            return await anyio.to_thread.run_sync(
                functools.partial(format.ask, prompt, stream=stream)
            )
        finally:
            format.close()

    async def native(server: MockServer, prompt: str = "Hi.", retries: int = 0) -> Heard:
        return await Format(name, server, retries).ask_async(prompt, stream=stream)

    return sync if way == "sync" else native


@contextmanager
def refused(status: int) -> Iterator[list[Any]]:
    """The block ends with the clients' error for a status, which is then in the list."""
    found: list[Any] = []
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
        yield found
    error: Any = caught.value
    assert error.status_code == status
    found.append(error)


async def test_too_many_requests_come_with_when_to_ask_again(ask: Ask) -> None:
    async with serving(Refused(429, "Slow down.", retry_after=2.5)) as server:
        with refused(429) as found:
            await ask(server)
    (error,) = found
    assert isinstance(error, openai.RateLimitError | anthropic.RateLimitError)
    assert error.response.headers["retry-after"] == "2.5"
    assert "Slow down." in str(error)


async def test_a_client_that_asks_again_gets_the_next_reply(ask: Ask) -> None:
    async with serving(Refused(429, retry_after=0.001), "Fine.") as server:
        assert (await ask(server, retries=1)).text == "Fine."
        assert len(server.received) == 2
        assert server.received[1].headers["x-stainless-retry-count"] == "1"


@pytest.mark.parametrize("status", [401, 404, 500, 503, 529])
def test_any_status_of_an_error_can_be_given(name: str, status: int) -> None:
    with serving(Refused(status, "No.")) as server:
        got = post(server, PATHS[name], BODIES[name])
    assert got.status == status
    assert got.data["error"]["message"] == "No."


@pytest.mark.parametrize(
    ("status", "openai_code", "anthropic_type"),
    [
        (401, "invalid_api_key", "authentication_error"),
        (429, "rate_limit_exceeded", "rate_limit_error"),
        (529, None, "overloaded_error"),
    ],
)
def test_an_error_has_the_vendors_own_name(
    status: int, openai_code: str | None, anthropic_type: str
) -> None:
    with serving(Refused(status), Refused(status), Refused(status, kind="mine")) as server:
        chat = post(server, PATHS["chat"], BODIES["chat"])
        messages = post(server, PATHS["messages"], BODIES["messages"])
        own = post(server, PATHS["messages"], BODIES["messages"])
    assert chat.data["error"]["code"] == openai_code
    assert messages.data["error"]["type"] == anthropic_type
    assert own.data["error"]["type"] == "mine"


@pytest.mark.parametrize("fault", ["cut", "reset", "malformed"])
async def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(
    ask: Ask, fault: Any
) -> None:
    call = MockCall("look", {"word": "a"})
    async with serving(MockReply(text="Let me see.", calls=(call,), fault=fault)) as server:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - each client has another
            await ask(server)
    raised = {type(error).__name__ for error in _causes(caught.value)}
    if fault == "malformed":
        assert raised & {"JSONDecodeError", "APIResponseValidationError"}
    else:
        assert raised & {"RemoteProtocolError", "ReadError"}
    if fault == "reset":
        assert "RemoteProtocolError" not in raised


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_what_was_said_before_a_cut_has_come(name: str) -> None:
    with serving(MockReply(text="one two three", fault="cut")) as server:
        format = Format(name, server)
        said = "".join(heard_before_the_end(format))
        format.close()
    assert "one" in said
    assert " two" in said
    assert " three" in said


def heard_before_the_end(format: Format) -> Iterator[str]:
    try:
        with format.events() as events:
            for event in events:
                yield event.model_dump_json()
    except Exception:
        return
    raise AssertionError("it looked whole")


async def test_an_error_before_the_first_word_is_a_status(ask: Ask) -> None:
    async with serving(OSError("disk full")) as server:
        with refused(500) as found:
            await ask(server)
    assert "OSError: disk full" in str(found[0])


@pytest.mark.parametrize("error", [OSError("disk full"), Refused(529, "disk full")])
def test_an_error_in_mid_stream_is_an_event(name: str, error: Exception) -> None:
    with serving(MockReply(text="Well", error=error)) as server:
        got = post(server, PATHS[name], {**BODIES[name], "stream": True})
    kind, data = got.events[-1]
    match name:
        case "chat":
            assert kind == ""
            assert "disk full" in data["error"]["message"]
        case "responses":
            assert kind == "response.failed"
            assert "disk full" in data["response"]["error"]["message"]
            assert data["response"]["status"] == "failed"
        case _:
            assert kind == "error"
            assert "disk full" in data["error"]["message"]


async def test_a_mistake_in_the_rules_is_told_once_and_lists_them(ask: Ask) -> None:
    async with MockServer(MockModel([Rule(when="never", reply="")])) as server:
        with refused(400) as found:
            await ask(server, retries=3)
        assert len(server.received) == 1
    assert "no rule of the mock model matches" in str(found[0])
    assert "text contains 'never'" in str(found[0])
    assert found[0].response.headers["x-should-retry"] == "false"


async def test_a_script_that_is_used_up_is_told(ask: Ask) -> None:
    async with serving("once") as server:
        assert (await ask(server)).text == "once"
        with refused(400) as found:
            await ask(server)
    assert "holds 1 replies and was used once more" in str(found[0])


async def test_a_slow_first_word_takes_its_time_by_the_clock(ask: Ask) -> None:
    clock = FixedClock()
    reply = MockReply(text="one two three", delay=30, pace=5)
    async with serving(reply, clock=clock) as server:
        assert (await ask(server)).text == "one two three"
    assert clock.slept == [30, 5, 5, 5]


@pytest.mark.rule("R352")
async def test_a_client_that_leaves_ends_the_answer(name: str) -> None:
    model = Endless()
    async with MockServer(model) as server:
        with anyio.CancelScope() as scope:
            format = Format(name, server)
            async with format.async_events() as events:
                async for event in events:
                    if "again" in event.model_dump_json():
                        scope.cancel()
        assert scope.cancelled_caught
        assert await anyio.to_thread.run_sync(model.closed.wait, PATIENCE)
    assert model.signal_reason == "the client has gone"


@pytest.mark.rule("R351")
@pytest.mark.parametrize("text", ["", "one two"])
async def test_an_answer_that_stalls_ends_when_the_server_is_closed(text: str) -> None:
    asked = threading.Event()
    failed: list[BaseException] = []

    def reply(request: MockRequest) -> MockReply:
        asked.set()
        return MockReply(text=text, fault="stall")

    def ask() -> None:
        format = Format("chat", server)
        try:
            format.ask("Hi.", stream=True)
        except openai.APIConnectionError as error:
            failed.append(error)
        finally:
            format.close()

    client = threading.Thread(target=ask)
    async with serving(reply) as server:
        client.start()
        assert await anyio.to_thread.run_sync(asked.wait, PATIENCE)
    await anyio.to_thread.run_sync(client.join, PATIENCE)
    assert len(failed) == 1


class Endless:
    """A provider that never comes to an end, and tells when it is closed."""

    name = "endless"

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.signal_reason: object = None

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        try:
            while True:
                await anyio.lowlevel.checkpoint()
                yield TextChunk(" again")
        finally:
            self.signal_reason = context.signal.reason
            self.closed.set()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (MockReply(text="a", fault="reset"), ModelUnavailable),
        (MockReply(text="a", fault="malformed"), ModelError),
        (Refused(401), ModelDenied),
        (Refused(400), ModelRequestRefused),
        (Refused(429), ModelRateLimited),
        (Refused(503), ModelUnavailable),
        (Refused(408), ModelTimeout),
        (Refused(409), ModelUnavailable),
        (Refused(425), ModelUnavailable),
        (Refused(504), ModelTimeout),
        (Refused(529), ModelUnavailable),
        (Refused(429, kind="insufficient_quota"), ModelDenied),
    ],
)
async def test_in_process_a_fault_is_the_error_that_a_provider_makes_of_it(
    reply: Any, error: type[Exception]
) -> None:
    model = MockModel([Rule(reply=reply)])
    with pytest.raises(error) as caught:
        await fake_context(model=model).model.invoke("Hi.")
    assert type(caught.value) is error
    malformed = isinstance(reply, MockReply) and reply.fault == "malformed"
    assert isinstance(caught.value.__cause__, MalformedAnswer) is malformed


@pytest.mark.parametrize("kind", [None, "insufficient_quota", "overloaded_error"])
@pytest.mark.parametrize(
    "status", [400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 504]
)
def test_in_process_a_refusal_is_what_the_clients_error_for_it_is(
    status: int, kind: str | None
) -> None:
    wrong = Refused(status, "No.", retry_after=3, kind=kind)
    response = httpx2.Response(
        status, headers={"retry-after": "3"}, request=httpx2.Request("POST", "http://localhost")
    )
    theirs = openai.APIStatusError("No.", response=response, body=wrong.body)
    made, expected = wrong.error(), failure_of(theirs)
    assert (type(made), str(made), vars(made)) == (type(expected), str(expected), vars(expected))


async def test_in_process_a_refusal_is_tried_again_when_it_says() -> None:
    clock = FixedClock()
    mock = MockModel([Rule(reply=[Refused(429, retry_after=7), "Fine."])])
    context = fake_context(model=Model(mock, retries=1), clock=clock)
    assert (await context.model.invoke("Hi.")).value == "Fine."
    assert clock.slept == [7]


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (ModelDenied("no"), 401, None),
        (ModelRateLimited("no", retry_after=7), 429, "7"),
        (ModelTimeout("no"), 504, None),
        (ModelUnavailable("no"), 503, None),
        (ModelUnavailable("no", status=529, retry_after=1.5), 529, "1.5"),
        (ModelRequestRefused("no"), 400, None),
        (ModelError("no"), 500, None),
        (ModelError("no", status=200), 500, None),
    ],
)
def test_a_model_error_is_told_by_its_status(
    error: ModelError, status: int, wait: str | None
) -> None:
    with serving(error) as server:
        got = post(server, PATHS["chat"], BODIES["chat"])
    assert (got.status, got.headers.get("retry-after")) == (status, wait)
    assert "x-should-retry" not in got.headers


async def test_in_process_a_stall_waits_until_it_is_cancelled() -> None:
    model = MockModel([Rule(reply=MockReply(text="a", fault="stall"))])
    heard: list[str] = []
    async with anyio.create_task_group() as group:

        async def listen() -> None:
            context = ModelContext(
                signal=fake_context().signal, run_id="r", node_id="n", call_id="c"
            )
            async for chunk in model.stream((), context):
                heard.append(chunk.type)  # noqa: PERF401 - it never ends
            heard.append("the end")

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert heard == ["text"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Refused(200), r"Refused\(200\): an error has a status from 400 to 599"),
        (lambda: Refused(429, retry_after=-1), "it is not negative"),
        (lambda: MockReply(fault="cat"), "there are 'cut', 'reset', 'stall', 'malformed'"),  # type: ignore[arg-type]
        (lambda: MockReply(fault="cut", error=OSError()), "breaks off in one way only"),
        (lambda: MockReply(delay=-1), "no time is negative"),
    ],
)
def test_a_fault_that_cannot_be_is_told_when_it_is_made(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()
