"""Loops that end, streams that are dropped, traces that span a run: nothing is left, nothing warns."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator
from contextvars import ContextVar, Token, copy_context
from typing import Any

import anyio
import pytest
import structlog
from anyio import wait_all_tasks_blocked

from agentflow import Engine, Fact, RunCancelled
from agentflow.run.loop import current_loop
from tests.run.clock import HandClock
from tests.run.workflows import alone, line, nothing

SPAN: ContextVar[str] = ContextVar("SPAN", default="none")


class Tracer:
    """An observer that opens a span in a context variable with a fact, and closes it with another."""

    def __init__(self, opening: str, *closing: str) -> None:
        self.opening = opening
        self.closing = closing
        self.tokens: list[Token[str]] = []
        self.closed = 0

    def accepts(self, kind: str, content: bool) -> bool:
        return not content

    def event(self, fact: Fact) -> None:
        self.trace(fact)

    def trace(self, fact: Fact) -> None:
        if fact.kind == self.opening:
            self.tokens.append(SPAN.set(f"span of {fact.run_id}"))
        elif fact.kind in self.closing:
            SPAN.reset(self.tokens.pop())
            self.closed += 1


class AsyncTracer(Tracer):
    async def event(self, fact: Fact) -> None:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        self.trace(fact)


RUN = ("run.started", "run.completed", "run.cancelled", "run.failed")
NODE = ("node.started", "node.committed", "node.failed", "run.cancelled")


async def wait(state: Any) -> None:
    await anyio.sleep_forever()


async def work(state: Any) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.case("P109")
@pytest.mark.parametrize("kinds", [RUN, NODE])
@pytest.mark.parametrize("make", [Tracer, AsyncTracer])
@pytest.mark.parametrize("how", ["completed", "timed out", "broken out of", "abandoned"])
async def test_a_span_that_a_run_opens_is_closed_in_its_own_context(
    kinds: tuple[str, ...], make: Any, how: str, request: pytest.FixtureRequest
) -> None:
    tracer, clock, release = make(*kinds), HandClock(), anyio.Event()

    async def deaf(state: Any) -> None:
        with anyio.CancelScope(shield=True):
            await release.wait()

    if how == "abandoned":
        request.getfixturevalue("no_patience")
    function = {"completed": work, "abandoned": deaf}.get(how, wait)
    workflow = alone(function, timeout=5 if how == "timed out" else None)
    with structlog.testing.capture_logs() as logs:
        async with Engine(workflow, clock=clock, observers=[tracer]).start() as run:
            async for fact in run.facts():
                if fact.kind == "node.started":
                    await wait_all_tasks_blocked()
                    if how in ("broken out of", "abandoned"):
                        break
                    clock.move(5)
    assert logs == []
    assert tracer.tokens == []
    assert tracer.closed == 1
    assert SPAN.get() == "none"
    release.set()
    await wait_all_tasks_blocked()


@pytest.mark.case("P109")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stream_that_is_dropped_half_read_cancels_its_run() -> None:
    engine = Engine(line(work, wait))
    kept: list[Any] = []

    async def stream() -> AsyncIterator[Fact]:
        async with engine.start() as run:
            kept.append(run)
            async for fact in run.facts():
                yield fact

    async for fact in stream():
        if fact.kind == "node.started":
            break
    gc.collect()
    await wait_all_tasks_blocked()
    assert kept[0].status == "cancelled"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_nobody_owns_goes_on_although_nobody_holds_what_it_waits_for() -> None:
    waits: list[weakref.ref[asyncio.Future[None]]] = []
    ended = anyio.Event()

    async def wait_for_nobody() -> None:
        future = asyncio.get_running_loop().create_future()
        waits.append(weakref.ref(future))
        await future
        ended.set()

    current_loop().spawn(wait_for_nobody, copy_context())
    await wait_all_tasks_blocked()
    gc.collect()
    waiting = waits[0]()
    assert waiting is not None
    waiting.set_result(None)
    await ended.wait()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("watched", [False, True])
def test_a_loop_may_end_while_something_was_left_behind(
    backend: str, watched: bool, no_patience: None
) -> None:
    async def main() -> None:
        reached = anyio.Event()

        async def swallow(state: Any) -> Any:
            reached.set()
            for _ in range(3):
                # It ignores its cancel, but not for ever.
                with contextlib.suppress(BaseException):
                    await anyio.sleep_forever()

        async def observe(fact: Fact) -> None:
            await anyio.lowlevel.checkpoint()

        observers = [observe] if watched else []
        async with Engine(alone(swallow), observers=observers).start() as run:
            await reached.wait()
        assert run.status == "cancelled"

    anyio.run(main, backend=backend)
    gc.collect()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_may_end_by_an_error_in_the_middle_of_a_run(backend: str) -> None:
    async def main() -> None:
        async with Engine(alone(wait), observers=[lambda fact: None]).start() as run:
            reader = run.facts()
            await anext(reader)
            raise LookupError("the program ends")

    with pytest.raises(LookupError, match="the program ends"):
        anyio.run(main, backend=backend)
    gc.collect()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_native_timeout_around_a_run_ends_it_and_is_a_timeout() -> None:
    engine = Engine(alone(wait))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await engine.run(run_id="r")
    assert engine.get("r") is None
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_second_native_cancel_does_not_wait_and_loses_nothing() -> None:
    left = anyio.Event()
    release = anyio.Event()

    async def slow_to_leave(state: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await release.wait()
            left.set()

    engine = Engine(alone(slow_to_leave))
    task = asyncio.create_task(engine.run(run_id="r"))
    await wait_all_tasks_blocked()
    task.cancel()
    await wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    await left.wait()
    await wait_all_tasks_blocked()
    assert engine.get("r") is None


async def test_a_run_that_nobody_holds_any_more_comes_to_its_end() -> None:
    async def start() -> None:
        async with Engine(line(nothing, work)).start() as run:
            run.cancel()
            with pytest.raises(RunCancelled):
                await run.result()

    await start()
    gc.collect()
