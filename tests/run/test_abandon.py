"""Bodies that ignore their cancel are left behind: the run ends without them, and what they bring later is dropped."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import (
    Budget,
    BudgetExceeded,
    Engine,
    RunCancelled,
    node,
    route,
    subflow,
)
from agentflow.run import detached
from tests.run.clock import HandClock
from tests.run.spending import spend
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, unchecked

pytestmark = pytest.mark.usefixtures("no_patience")


class Deaf:
    """A node's function that ignores every cancel until it is released, and then does `after`."""

    def __init__(self, after: Any = None) -> None:
        self.reached = anyio.Event()
        self.release = anyio.Event()
        self.ended = anyio.Event()
        self.ctx: Any = None
        self._after = after

    async def __call__(self, state: Any, ctx: Any) -> Any:
        self.ctx = ctx
        try:
            with anyio.CancelScope(shield=True):
                self.reached.set()
                await self.release.wait()
            return self._after() if self._after is not None else {"x": "late"}
        finally:
            self.ended.set()

    async def let_go(self) -> None:
        self.release.set()
        await self.ended.wait()
        await wait_all_tasks_blocked()


def late_error() -> Any:
    raise OSError("late")


def late_exit() -> Any:
    raise SystemExit("late")


@pytest.mark.rule("R322")
@pytest.mark.parametrize("after", [None, late_error, late_exit])
async def test_the_run_ends_at_once_and_the_late_outcome_is_dropped(after: Any) -> None:
    deaf, seen = Deaf(after), Recorder()
    second_visited: list[bool] = []

    async def second(state: Any) -> None:
        second_visited.append(True)

    async with Engine(line(deaf, second), observers=[seen]).start({"y": 1}) as run:
        await deaf.reached.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
        assert not deaf.ended.is_set()
        told = list(seen.kinds)
        await deaf.let_go()
        assert run.status == "cancelled"
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
        assert dict(run.state) == {"y": 1}
    assert second_visited == []
    assert seen.kinds == told
    assert told[-2:] == ["thread.abandoned", "run.cancelled"]
    assert seen.of("thread.abandoned")[0].node_id == "a"


@pytest.mark.parametrize("timeout", [None, 60])
async def test_a_body_that_needs_a_moment_to_clean_up_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, timeout: float | None
) -> None:
    monkeypatch.setattr(detached, "GRACE", 60.0)
    reached, cleaned = anyio.Event(), anyio.Event()
    seen = Recorder()

    async def body(state: Any) -> None:
        try:
            reached.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
            cleaned.set()

    async with Engine(alone(body, timeout=timeout), observers=[seen]).start() as run:
        await reached.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
        assert cleaned.is_set()
    assert "thread.abandoned" not in seen.kinds


async def test_a_context_of_an_abandoned_body_can_do_nothing_more() -> None:
    deaf = Deaf()
    async with Engine(alone(deaf)).start() as run:
        await deaf.reached.wait()
        run.cancel()
    done: list[str] = []
    with pytest.raises(RunCancelled):
        await deaf.ctx.once("pay", lambda: done.append("paid"))
    assert done == []
    await deaf.let_go()


@pytest.mark.parametrize("watched", [False, True])
async def test_a_run_out_of_seconds_ends_without_a_deaf_body_and_goes_no_further(
    watched: bool,
) -> None:
    deaf, clock, seen = Deaf(), HandClock(), Recorder()
    visited: list[str] = []

    async def second(state: Any) -> None:
        visited.append("b")

    engine = Engine(
        line(deaf, second),
        clock=clock,
        observers=[seen] if watched else [],
        budget=Budget(seconds=5),
    )
    async with engine.start() as run:
        await deaf.reached.wait()
        await wait_all_tasks_blocked()
        clock.move(6)
        with pytest.raises(BudgetExceeded) as caught:
            await run.result()
        assert deaf.ctx.signal.cancelled
        await deaf.let_go()
        assert dict(run.state) == {}
        assert run.status == "failed"
        with pytest.raises(BudgetExceeded):
            await run.result()
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("seconds", 5, 6)
    assert visited == []
    if watched:
        assert seen.kinds[-3:] == ["thread.abandoned", "limit.reached", "run.failed"]


async def test_nothing_is_spent_by_what_was_left_behind() -> None:
    async def spend_late() -> None:
        deaf.ctx.check_open()
        spend(deaf.ctx, "tool_calls")

    deaf = Deaf()
    async with Engine(alone(deaf)).start() as run:
        await deaf.reached.wait()
        run.cancel()
    with pytest.raises(RunCancelled):
        await spend_late()
    assert run.ledger.used("tool_calls") == 0
    await deaf.let_go()


async def test_a_deaf_body_in_a_sub_workflow_is_left_behind_with_it() -> None:
    deaf, seen = Deaf(), Recorder()
    visited: list[str] = []

    async def after(state: Any) -> None:
        visited.append("after")

    inner = unchecked(
        "inner",
        nodes=[
            node(deaf, id="deaf", may_provide=["x"], routes=[route.to("after")]),
            node(after, id="after", routes=[END]),
        ],
    )
    outer = unchecked("outer", nodes=[subflow("sub", inner, routes=[END])])
    async with Engine(outer, observers=[seen]).start() as run:
        await deaf.reached.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
        told = len(seen.facts)
        deaf.ctx.report(payload="too late to be told")
        await deaf.let_go()
    assert visited == []
    assert len(seen.facts) == told
    assert (seen.facts[-1].kind, seen.facts[-1].run_id) == ("run.cancelled", run.id)


async def test_a_sub_workflow_that_outlives_its_timeout_goes_no_further() -> None:
    deaf, clock = Deaf(), HandClock()
    visited: list[str] = []

    async def after(state: Any) -> None:
        visited.append("after")

    async def rescue(state: Any, ctx: Any) -> Any:
        return {"out": ctx.failure.type}

    inner = unchecked(
        "inner",
        nodes=[
            node(deaf, id="deaf", may_provide=["x"], routes=[route.to("after")]),
            node(after, id="after", routes=[END]),
        ],
    )
    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", inner, routes=[END], timeout=5, on_error="rescue"),
            node(rescue, id="rescue", provides=["out"], routes=[route.deliver("out")]),
        ],
    )
    async with Engine(outer, clock=clock).start() as run:
        await deaf.reached.wait()
        await wait_all_tasks_blocked()
        clock.move(5)
        assert await run.result() == "TimeoutError"
        await deaf.let_go()
    assert visited == []


@pytest.mark.case("P116")
async def test_a_thread_is_left_behind_and_its_result_dropped(gate: threading.Event) -> None:
    reached, ended = threading.Event(), threading.Event()
    seen = Recorder()

    def block(state: Any, ctx: Any) -> Any:
        reached.set()
        gate.wait()
        ended.set()
        return {"x": "late"}

    async with Engine(alone(block), observers=[seen]).start({"y": 1}) as run:
        await anyio.to_thread.run_sync(reached.wait)
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
        assert not ended.is_set()
        gate.set()
        await anyio.to_thread.run_sync(ended.wait)
        await wait_all_tasks_blocked()
        assert dict(run.state) == {"y": 1}
    assert seen.kinds[-2:] == ["thread.abandoned", "run.cancelled"]
    assert seen.of("thread.abandoned")[0].node_id == "only"
