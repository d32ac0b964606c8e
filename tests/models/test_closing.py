"""A provider's stream is closed however its call ends, and a cancel is never hidden by it."""

from __future__ import annotations

import contextlib
from typing import Any

import anyio
import pytest

from agentflow import (
    CancelSignal,
    Engine,
    ModelError,
    RunCancelled,
)
from agentflow.messages import (
    FinishChunk,
    TextChunk,
)
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Chunks, Endless, asking


@pytest.mark.rule("R282")
async def test_a_cancel_ends_the_call_at_once_and_closes_the_provider() -> None:
    provider, signal, recorder = Endless(), CancelSignal(), FactRecorder()
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=provider)
    async with engine.start({}, signal=signal, observers=[recorder]) as run:
        await provider.thinking.wait()
        signal.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert provider.closed == 1
    assert provider.signals[0].cancelled
    failed = recorder.only("model.failed")
    assert (failed.node_id, failed.data["usage"]["output_chars"]) == ("ask", 4)


@pytest.mark.parametrize(
    "chunks",
    [
        (TextChunk("Hi"), FinishChunk()),
        (TextChunk("Hi"), OSError("reset")),
        (TextChunk("Hi"),),
        (FinishChunk(), TextChunk("late")),
    ],
    ids=["whole", "failed", "cut", "unruly"],
)
async def test_a_stream_is_closed_however_it_ends(chunks: Any) -> None:
    provider = Chunks(*chunks)
    with contextlib.suppress(ModelError):
        await fake_context(model=provider).model.invoke("Hi.")
    assert provider.closed == 1


async def test_a_stream_that_is_left_early_is_closed() -> None:
    provider = Chunks(TextChunk("Hi"), FinishChunk())
    async with fake_context(model=provider).model.stream("Hi.") as stream:
        await anext(aiter(stream))
    assert provider.closed == 1


@pytest.mark.parametrize("close_error", [None, OSError("reset")])
async def test_a_stream_is_closed_when_a_cancel_comes_while_the_sink_takes_a_chunk(
    close_error: Exception | None,
) -> None:
    taking = anyio.Event()

    class Stuck:
        async def send(self, chunk: Any) -> None:
            taking.set()
            await anyio.sleep_forever()

    provider = Chunks(TextChunk("Hi"), FinishChunk(), close_error=close_error)
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=provider)
    async with engine.start({}, sink=Stuck()) as run:
        await taking.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert provider.closed == 1


async def test_a_provider_that_fails_to_close_does_not_hide_the_cancel() -> None:
    provider = Chunks(TextChunk("Hi"), FinishChunk(), close_error=OSError("reset"))

    class Cancelling:
        async def send(self, chunk: Any) -> None:
            group.cancel_scope.cancel()
            await anyio.sleep_forever()

    ctx = fake_context(model=provider, sink=Cancelling())
    async with anyio.create_task_group() as group:
        group.start_soon(ctx.model.invoke, "Hi.")
    assert (group.cancel_scope.cancelled_caught, provider.closed) == (True, 1)
