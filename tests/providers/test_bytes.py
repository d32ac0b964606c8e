"""However the bytes of an answer come: cut anywhere it is the same answer, and ending anywhere too early it is none."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, settings, strategies as st

from agentflow import Message, ModelError, ModelUnavailable, build_loop, tool
from agentflow.messages import ToolSpec
from agentflow.models import Model
from agentflow.testing import Scenario, fake_context
from tests.providers.speakers import SPEAKERS, Speaker
from tests.providers.wires import Recorded, split

RICH = Scenario(
    text='Grüße, 世界! 🍸 "x"\n\u2028 end',
    reasoning="hm — naïve",
    calls=(("look_up", {"word": "naïve 🍸"}), ("now", {})),
    usage=(12, 5),
)
TOOLS = [
    ToolSpec("look_up", "Look.", {"type": "object", "properties": {}}),
    ToolSpec("now", "Now.", {"type": "object", "properties": {}}),
]


async def answer_of(speaker: Speaker, transport: Recorded) -> tuple[Message, dict[str, float]]:
    ctx = fake_context(model=Model(speaker.provider(transport), retries=0))
    reply = await ctx.model.invoke("Hi.", transport="message", tools=TOOLS)
    return reply.value, dict(reply.invocation.usage)


def told(message: Message) -> Any:
    return (
        message.text,
        message.reasoning,
        [(c.name, dict(c.arguments)) for c in message.tool_calls],
    )


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@given(data=st.data())
@settings(max_examples=60)
def test_any_split_of_the_bytes_gives_the_same_answer(
    speaker: Speaker, data: st.DataObject
) -> None:
    whole = speaker.encode(RICH, None)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=40))
    message, usage = anyio.run(answer_of, speaker, Recorded(split(whole, cuts)))
    assert told(message) == (
        RICH.text,
        RICH.reasoning,
        [(name, dict(arguments)) for name, arguments in RICH.calls],
    )
    assert (usage["input_tokens"], usage["output_tokens"]) == (12, 5)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
async def test_every_byte_for_itself_gives_the_same_answer(speaker: Speaker) -> None:
    whole = speaker.encode(RICH, None)
    message, _ = await answer_of(
        speaker, Recorded([whole[at : at + 1] for at in range(len(whole))])
    )
    assert message.text == RICH.text


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@pytest.mark.parametrize("ends", ["\r\n", "\r"])
async def test_other_ends_of_lines_and_comments_change_nothing(speaker: Speaker, ends: str) -> None:
    whole = speaker.encode(RICH, None).replace(b"\n", ends.encode())
    alive = f": keep-alive{ends}{ends}".encode()
    frames = [frame + ends.encode() * 2 for frame in whole.split(ends.encode() * 2) if frame]
    message, _ = await answer_of(speaker, Recorded([alive, *(f + alive for f in frames)]))
    assert message.text == RICH.text


SMALL = Scenario(text="é", calls=(("look_up", {"word": "é"}),))


async def executed_by(speaker: Speaker, transport: Recorded, bodies: list[bytes]) -> list[str]:
    """What the tool was called with, by answers that come to no end."""
    called: list[str] = []

    @tool
    async def look_up(word: str) -> str:
        """Look."""
        called.append(word)
        return word

    model = Model(speaker.provider(transport), retries=0)
    workflow = build_loop()
    for body in bodies:
        transport.answer = body
        with pytest.raises(ModelError):
            await workflow.run({"messages": "Hi."}, model=model, tools=[look_up])
    return called


@pytest.mark.rule("R290")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_an_answer_that_ends_too_early_is_an_error_at_every_byte(
    speaker: Speaker,
) -> None:
    whole = speaker.encode(SMALL, None).rstrip()
    transport = Recorded(b"")

    async def main() -> None:
        ctx = fake_context(model=Model(speaker.provider(transport), retries=0))
        for length in range(len(whole)):
            transport.answer = whole[:length]
            with pytest.raises(ModelError):
                await ctx.model.invoke("Hi.", transport="message", tools=TOOLS)

    anyio.run(main)


@pytest.mark.rule("R290")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@given(data=st.data())
@settings(max_examples=20)
def test_an_answer_that_ends_too_early_executes_nothing(
    speaker: Speaker, data: st.DataObject
) -> None:
    whole = speaker.encode(SMALL, None).rstrip()
    length = data.draw(st.integers(0, len(whole) - 1))
    assert anyio.run(executed_by, speaker, Recorded(b""), [whole[:length]]) == []


@pytest.mark.rule("R290")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(data=st.data())
@settings(max_examples=15)
def test_an_answer_whose_connection_is_lost_is_an_error_and_executes_nothing(
    speaker: Speaker, backend: str, data: st.DataObject
) -> None:
    whole = speaker.encode(RICH, None).rstrip()
    length = data.draw(st.integers(0, len(whole) - 1))
    transport = Recorded(b"", fails=httpx2.ReadError("reset"))

    async def main() -> list[str]:
        return await executed_by(speaker, transport, [whole[:length]])

    assert anyio.run(main, backend=backend) == []


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
async def test_a_connection_that_is_lost_before_anything_came_is_tried_again(
    speaker: Speaker,
) -> None:
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request)
        if len(asked) == 1:
            return httpx2.ConnectError("refused")
        return speaker.encode(Scenario(text="Hello."), request)

    from agentflow.testing import FixedClock

    ctx = fake_context(model=speaker.provider(Recorded(answer)), clock=FixedClock())
    reply = await ctx.model.invoke("Hi.")
    assert (reply.value, reply.invocation.tries) == ("Hello.", 2)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
async def test_a_connection_is_given_back_however_a_call_ends(speaker: Speaker) -> None:
    whole = speaker.encode(RICH, None)
    ways: list[tuple[Any, Exception | None]] = [
        (whole, None),
        (whole[:200], None),
        (whole[:200], httpx2.ReadError("reset")),
        (speaker.encode(Scenario(text="a", fails=True), None) + speaker.failure, None),
    ]
    for body, fails in ways:
        transport = Recorded(body, fails=fails)
        with pytest.raises(ModelError) if transport.answer != whole else _nothing():
            await answer_of(speaker, transport)
        assert transport.closed == 1


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
async def test_a_call_that_is_cancelled_while_it_waits_gives_its_connection_back(
    speaker: Speaker,
) -> None:
    waiting = anyio.Event()
    sent = speaker.encode(Scenario(text="Well", cut=True), None)

    class Stalling(Recorded):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            body = response.stream

            class Stalled(httpx2.AsyncByteStream):
                async def __aiter__(self) -> Any:
                    yield sent
                    waiting.set()
                    await anyio.sleep_forever()

                async def aclose(self) -> None:
                    await body.aclose()  # type: ignore[union-attr]

            return httpx2.Response(200, headers=response.headers, stream=Stalled())

    transport = Stalling(sent)
    ctx = fake_context(model=speaker.provider(transport))
    async with anyio.create_task_group() as group:
        group.start_soon(ctx.model.invoke, "Hi.")
        await waiting.wait()
        group.cancel_scope.cancel()
    assert transport.closed == 1
    assert ctx.ledger.used("output_chars") == 4


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@pytest.mark.parametrize("body", [b"data: {oops\n\n", b"data: [1, 2]\n\n", b"data: 7\n\n"])
async def test_what_cannot_be_read_is_an_error_and_no_crash(speaker: Speaker, body: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        await answer_of(speaker, Recorded(body))
    assert not isinstance(caught.value, ModelUnavailable) or "ended before" in str(caught.value)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@given(body=st.binary(max_size=80) | st.text(max_size=40).map(lambda t: f"data: {t}\n\n".encode()))
@settings(max_examples=60)
def test_rubbish_is_a_model_error(speaker: Speaker, body: bytes) -> None:
    with pytest.raises(ModelError):
        anyio.run(answer_of, speaker, Recorded([body, b"\n\n"]))
