"""A streamed call: chunks as they come, the same reply in the end, and leaving early leaves nothing behind."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import CancelSignal, Engine, ModelError, OutputInvalid, RunCancelled, structured
from agentflow.messages import FinishChunk, TextChunk
from agentflow.run.effects import performing
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import HELLO, Endless, Scripted, Sinking, asking


async def test_a_stream_gives_the_chunks_and_then_the_reply_of_invoke() -> None:
    recorder = FactRecorder()
    ctx = fake_context(model=Scripted(), observers=[recorder])
    async with ctx.model.stream("Hi.") as stream:
        chunks = [chunk async for chunk in stream]
        reply = await stream.reply()
    assert chunks == list(HELLO)
    assert reply.value == "Hello."
    assert recorder.kinds() == ["model.started", "model.chunk", "model.chunk", "model.completed"]


async def test_asking_for_the_reply_takes_the_chunks_that_are_left() -> None:
    ctx = fake_context(model=Scripted())
    async with ctx.model.stream("Hi.") as stream:
        assert await anext(aiter(stream)) == TextChunk("Hel")
        assert (await stream.reply()).value == "Hello."
        assert (await stream.reply()).value == "Hello."


@pytest.mark.rule("R342")
async def test_nothing_is_read_ahead_of_the_reader() -> None:
    log: list[str] = []
    ctx = fake_context(model=Scripted(log=log), sink=Sinking(log))
    async with ctx.model.stream("Hi.") as stream:
        async for chunk in stream:
            await anyio.lowlevel.checkpoint()
            log.append(f"read {chunk.type}")
    assert log == [
        "asked",
        *("sends 1", "takes 1", "took 1", "read text"),
        *("sends 2", "takes 2", "took 2", "read text"),
        *("sends 3", "read finish"),
        *("done", "closed"),
    ]


async def test_leaving_early_closes_the_provider_and_is_told() -> None:
    provider, recorder = Scripted(), FactRecorder()
    ctx = fake_context(model=provider, observers=[recorder])
    async with ctx.model.stream("Hi.") as stream:
        async for _ in stream:
            break
    assert provider.log == ["asked", "sends 1", "closed"]
    assert "left before the end" in recorder.only("model.failed").data["message"]
    with pytest.raises(ModelError, match="not come whole"):
        await stream.reply()


async def test_an_error_in_the_block_closes_the_provider() -> None:
    provider = Scripted()
    ctx = fake_context(model=provider)

    async def fall() -> None:
        async with ctx.model.stream("Hi.") as stream:
            async for chunk in stream:
                raise KeyError(chunk)

    with pytest.raises(KeyError):
        await fall()
    assert provider.log[-1] == "closed"


@pytest.mark.rule("R282")
async def test_a_cancel_during_a_stream_closes_the_provider() -> None:
    provider, signal = Endless(), CancelSignal()

    async def ask(ctx: Any) -> None:
        async with ctx.model.stream("Hi.") as stream:
            async for _ in stream:
                pass

    async with Engine(asking(ask), model=provider).start({}, signal=signal) as run:
        await provider.thinking.wait()
        signal.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
    assert provider.closed == 1


async def test_a_stream_that_was_not_entered_says_how() -> None:
    stream: Any = fake_context(model=Scripted()).model.stream("Hi.")
    with pytest.raises(RuntimeError, match=r"use 'async with ctx\.model\.stream"):
        await anext(stream)


async def test_output_that_breaks_the_contract_fails_the_stream_at_its_end() -> None:
    ctx = fake_context(model=Scripted())
    async with ctx.model.stream("Hi.", transport=structured(dict)) as stream:
        assert [await anext(aiter(stream)) for _ in range(3)] == list(HELLO)
        with pytest.raises(OutputInvalid):
            await anext(aiter(stream))


async def test_a_recorded_answer_comes_again_without_a_call() -> None:
    provider, recorder = Scripted(), FactRecorder()
    first = fake_context(model=provider, observers=[recorder])
    reply = await first.model.invoke("Hi.")
    again = type(first)(first.frame, first._node, 1, record=first.record)
    async with again.model.stream("Hi.") as stream:
        chunks = [chunk async for chunk in stream]
        assert await stream.reply() == reply
    assert chunks == [TextChunk("Hello."), FinishChunk()]
    assert len(provider.asked) == 1
    assert recorder.kinds()[-1] == "effect.replayed"
    assert again.ledger.used("model_calls") == 1


async def test_another_request_under_a_recorded_key_is_a_divergence() -> None:
    from agentflow import Divergence

    first = fake_context(model=Scripted())
    await first.model.invoke("Hi.")
    again = type(first)(first.frame, first._node, 1, record=first.record)
    with pytest.raises(Divergence):
        await again.model.invoke("Something else.")


async def test_an_effect_whose_value_was_not_kept_has_not_happened() -> None:
    ctx = fake_context()
    async with performing(ctx, "timer", "key", None) as first:
        assert not first.recorded
    async with performing(ctx, "timer", "key", None) as second:
        assert not second.recorded
        await second.keep(1)
    async with performing(ctx, "timer", "key", None) as third:
        assert (third.recorded, third.value) == (True, 1)
