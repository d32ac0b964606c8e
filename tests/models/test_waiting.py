"""Waiting: a call waits for its provider as long as it may, and for a place as long as it must."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentflow import Engine, Model, ModelTimeout, RunCancelled
from agentflow.messages import FinishChunk, TextChunk
from agentflow.models import Limiter
from agentflow.testing import FixedClock, fake_context
from tests.models.kit import HELLO, Scripted, asking


class Slow:
    """A provider that waits on a clock before each chunk; `None` waits for ever."""

    def __init__(self, clock: Any, *waits: float | None, name: str = "slow") -> None:
        self.clock = clock
        self.waits = waits
        self.name = name
        self.asked = 0
        self.closed = 0

    async def stream(self, messages: Any, context: Any) -> Any:
        self.asked += 1
        try:
            for wait in self.waits:
                if wait is None:
                    await anyio.sleep_forever()
                else:
                    await self.clock.sleep(wait)
                yield TextChunk("x")
            yield FinishChunk()
        finally:
            self.closed += 1


async def test_a_piece_that_does_not_come_in_time_ends_the_try() -> None:
    clock = FixedClock()
    provider = Slow(clock, 4.0, 4.0, 6.0)
    ctx = fake_context(model=Model(provider, idle_timeout=5), clock=clock)
    with pytest.raises(ModelTimeout, match="within the idle timeout of 5 s") as caught:
        await ctx.model.invoke("Hi.")
    assert caught.value.invocation is not None
    assert caught.value.invocation.usage["output_chars"] == 2
    assert (provider.asked, provider.closed) == (1, 1)


async def test_an_answer_that_takes_too_long_in_all_ends_the_try() -> None:
    clock = FixedClock()
    provider = Slow(clock, 4.0, 4.0, 4.0)
    ctx = fake_context(model=Model(provider, timeout=10, idle_timeout=5), clock=clock)
    with pytest.raises(ModelTimeout, match="longer than its timeout of 10 s"):
        await ctx.model.invoke("Hi.")
    assert provider.closed == 1


async def test_an_answer_in_time_is_an_answer() -> None:
    clock = FixedClock()
    model = Model(Slow(clock, 4.0, 4.0, 1.0), timeout=10, idle_timeout=5)
    assert (await fake_context(model=model, clock=clock).model.invoke("Hi.")).value == "xxx"


async def test_time_that_the_reader_takes_does_not_count() -> None:
    clock = FixedClock()
    ctx = fake_context(model=Model(Slow(clock, 1.0, 1.0), timeout=3, idle_timeout=2), clock=clock)
    async with ctx.model.stream("Hi.") as stream:
        async for _ in stream:
            clock.advance(100)
        assert (await stream.reply()).value == "xx"


async def test_a_try_that_was_too_slow_is_followed_by_another() -> None:
    clock = FixedClock()
    slow, fast = Slow(clock, 60.0), Scripted()
    model = Model(slow, retries=1, idle_timeout=5, fallbacks=[fast])
    reply = await fake_context(model=model, clock=clock).model.invoke("Hi.")
    assert (reply.value, reply.invocation.tries) == ("Hello.", 3)
    assert (slow.asked, slow.closed) == (2, 2)


async def test_a_timeout_is_kept_on_the_clock_of_the_machine_too() -> None:
    provider = Slow(None, None)
    model = Model(provider, retries=0, timeout=0.01)
    with pytest.raises(ModelTimeout, match=r"timeout of 0\.01 s"):
        await fake_context(model=model).model.invoke("Hi.")
    assert provider.closed == 1


async def test_an_error_of_the_provider_is_itself_under_a_timeout() -> None:
    from agentflow import ModelError

    for options in ({"timeout": 5}, {"idle_timeout": 5}):
        model = Model(Scripted(OSError("reset")), **options)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="OSError: reset"):
            await fake_context(model=model, clock=FixedClock()).model.invoke("Hi.")
        with pytest.raises(ModelError, match="OSError: reset"):
            await fake_context(model=model).model.invoke("Hi.")


class Gated:
    """A provider of which every call waits at a gate."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.inside = self.most = self.begun = 0

    async def stream(self, messages: Any, context: Any) -> Any:
        self.begun += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gate.wait()
            for chunk in HELLO:
                yield chunk
        finally:
            self.inside -= 1


async def test_so_many_calls_are_under_way_as_the_limiter_allows_in_all_runs_together() -> None:
    provider = Gated()
    model = Model(provider, limiter=Limiter(concurrency=3))
    values: list[str] = []
    async with Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=model) as engine:

        async def run() -> None:
            values.append((await engine.run({})).value)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            assert (provider.begun, provider.most) == (3, 3)
            provider.gate.set()
    assert (provider.begun, provider.most, len(values)) == (10, 3, 10)


async def test_models_that_share_a_limiter_are_limited_together() -> None:
    limiter = Limiter(concurrency=1)
    provider = Gated()
    models = {name: Model(provider, limiter=limiter) for name in ("a", "b")}
    ctx = fake_context(models=models)

    async def ask(name: str) -> None:
        await ctx.model.invoke("Hi.", model=name)

    async with anyio.create_task_group() as group:
        for name in models:
            group.start_soon(ask, name)
        await anyio.wait_all_tasks_blocked()
        assert provider.begun == 1
        provider.gate.set()
    assert provider.most == 1


async def test_so_many_calls_begin_in_a_minute_as_the_limiter_allows() -> None:
    clock = FixedClock()
    began: list[float] = []

    class Noting(Scripted):
        async def stream(self, messages: Any, context: Any) -> Any:
            began.append(clock.monotonic())
            async for chunk in super().stream(messages, context):
                yield chunk

    ctx = fake_context(model=Model(Noting(), limiter=Limiter(per_minute=2)), clock=clock)
    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(ctx.model.invoke, f"Hi {number}.")
    assert began == [0, 0, 60, 60, 120]


async def test_a_call_that_waits_for_its_next_try_holds_no_place() -> None:
    from agentflow import ModelRateLimited
    from tests.models.test_tries import Moody

    clock = FixedClock()
    limiter = Limiter(concurrency=1)
    moody = Moody([ModelRateLimited("429", retry_after=30)], HELLO)
    order: list[str] = []
    ctx = fake_context(
        models={"moody": Model(moody, limiter=limiter), "calm": Model(Scripted(), limiter=limiter)},
        clock=clock,
    )

    async def ask(name: str) -> None:
        await ctx.model.invoke("Hi.", model=name)
        order.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "moody")
        await anyio.lowlevel.checkpoint()
        group.start_soon(ask, "calm")
    assert order == ["calm", "moody"]


async def test_a_call_that_is_cancelled_while_it_waits_leaves_its_place_to_others() -> None:
    provider = Gated()
    model = Model(provider, limiter=Limiter(concurrency=1))
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=model)
    async with engine, engine.start({}) as first:
        await anyio.wait_all_tasks_blocked()
        async with engine.start({}) as second, engine.start({}) as third:
            await anyio.wait_all_tasks_blocked()
            second.cancel("enough")
            with pytest.raises(RunCancelled):
                await second.result()
            provider.gate.set()
            assert (await third.result()).value == "Hello."
        assert (await first.result()).value == "Hello."
    assert provider.begun == 2


def test_a_limiter_serves_one_loop_after_the_other() -> None:
    model = Model(Scripted(), limiter=Limiter(concurrency=1))
    workflow = asking(lambda ctx: ctx.model.invoke("Hi."))
    assert [workflow.run_sync({}, model=model).value for _ in range(3)] == ["Hello."] * 3
