"""The fixed clock: tests decide when time passes, and nobody waits for it in vain."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import Budget, BudgetExceeded, Engine, Retry, define_workflow, node, route
from agentflow.testing import FixedClock

END = route.finish(dict)


def alone(function: Any, **options: Any) -> Any:
    return define_workflow(
        "alone", nodes=[node(function, id="only", may_provide=["x"], routes=[END], **options)]
    )


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = FixedClock()
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        for name, seconds in (("late", 60), ("early", 1), ("middle", 5), ("at once", 0)):
            group.start_soon(sleep, name, seconds)
    assert woken == [("at once", 0), ("early", 1), ("middle", 5), ("late", 60)]


async def test_time_that_is_moved_wakes_whom_it_concerns() -> None:
    clock = FixedClock()
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as group:
        group.start_soon(sleep, 5)
        group.start_soon(sleep, 50)
        while len(clock.slept) < 2:
            await anyio.lowlevel.checkpoint()
        clock.advance(10)
    assert woken == [5, 50]
    assert clock.monotonic() == 50


async def test_a_sleeper_that_is_cancelled_leaves_the_watch_to_others() -> None:
    clock = FixedClock()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 60)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await clock.sleep(1)
    assert clock.monotonic() == 60


async def test_the_wait_of_a_retry_takes_no_time() -> None:
    async def flaky(state: Any, ctx: Any) -> Any:
        if ctx.attempt < 3:
            raise OSError("again")
        return {"x": ctx.attempt}

    clock = FixedClock()
    engine = Engine(alone(flaky, retry=Retry(3, backoff=60)), clock=clock)
    assert await engine.run() == {"x": 3}
    assert clock.monotonic() == 180


async def test_limits_of_time_pass_for_those_alone_who_wait() -> None:
    async def work(state: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"x": 1}

    async def wait(state: Any) -> None:
        await anyio.sleep_forever()

    clock = FixedClock()
    assert await Engine(alone(work, timeout=5), clock=clock).run() == {"x": 1}
    assert await Engine(alone(work), clock=clock).run(budget=Budget(seconds=5)) == {"x": 1}
    assert clock.monotonic() == 0
    with pytest.raises(TimeoutError):
        await Engine(alone(wait, timeout=5), clock=clock).run()
    with pytest.raises(BudgetExceeded, match="seconds"):
        await Engine(alone(wait), clock=clock).run(budget=Budget(seconds=5))
