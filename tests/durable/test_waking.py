"""Runs that wait for a time go on when it has come, in a process that lives on, and nobody has to ask for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypedDict

import anyio
import pytest

from agentflow import (
    Engine,
    Fact,
    IncompatibleRun,
    NodeContext,
    RunSuspended,
    Workflow,
    define_workflow,
    node,
    private,
    route,
)
from agentflow.errors import StoreError
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder, FixedClock
from tests.durable.crashing import CrashingStore, process
from tests.run.clock import HandClock
from tests.run.workflows import alone

START = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = 3600


def waiting(*, seconds: float = HOUR, then: Callable[[], Any] = lambda: 1) -> Workflow[Any]:
    """A run that waits, and does something once."""

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(seconds)
        return {"x": await ctx.once("then", then)}

    return alone(body)


async def suspend(workflow: Workflow[Any], store: Any, clock: Any, *run_ids: str) -> None:
    """Let some runs begin, and wait."""
    for run_id in run_ids or ("r",):
        run = await process(workflow, store, clock=clock, run_id=run_id)
        assert run.status == "suspended"


class Ended:
    """An observer that waits for the end of a run; meanwhile nothing else is to be done, so a fixed clock moves on."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def __call__(self, fact: Fact) -> None:
        if fact.kind == "run.completed":
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


async def moved(clock: HandClock, seconds: float) -> None:
    """Let time pass, and let everything happen that follows from it."""
    clock.move(seconds)
    await anyio.wait_all_tasks_blocked()


async def test_a_run_goes_on_when_its_time_has_come_and_nobody_asks() -> None:
    store, clock, seen, ended = MemoryStore(), FixedClock(START), FactRecorder(), Ended()
    async with (
        Engine(waiting(), store=store, clock=clock, observers=[seen, ended]) as engine,
        engine.waking(every=60),
    ):
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        await ended.wait()
        assert clock.now() - START == timedelta(seconds=HOUR)
        assert await engine.run(run_id="r") == {"x": 1}
    kinds = [fact.kind for fact in seen.facts]
    assert [kind for kind in kinds if kind.startswith("run.")] == [
        "run.started",
        "run.suspended",
        "run.resumed",
        "run.completed",
        "run.completed",
    ]


async def test_it_goes_on_not_before_its_time_and_at_most_one_look_later() -> None:
    store, clock = MemoryStore(), HandClock()
    await suspend(waiting(), store, clock)
    async with Engine(waiting(), store=store, clock=clock) as engine, engine.waking(every=10):
        await moved(clock, HOUR - 1)
        assert [info.status for info in await engine.runs()] == ["suspended"]
        await moved(clock, 9)
        assert [info.status for info in await engine.runs()] == ["suspended"]
        await moved(clock, 1)
        assert [info.status for info in await engine.runs()] == ["completed"]


async def test_a_question_that_nobody_answers_in_time_gets_its_default() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("k", timeout=HOUR, default="nobody")}

    store, clock, ended = MemoryStore(), FixedClock(START), Ended()
    await suspend(alone(body), store, clock)
    async with (
        Engine(alone(body), store=store, clock=clock, observers=[ended]) as engine,
        engine.waking(every=60),
    ):
        await ended.wait()
        assert await engine.run(run_id="r") == {"x": "nobody"}


async def test_a_run_that_waits_again_is_woken_again() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        for _ in range(3):
            await ctx.wait(HOUR)
        return {"x": ctx.run.clock.now()}

    store, clock, ended = MemoryStore(), FixedClock(START), Ended()
    await suspend(alone(body), store, clock)
    async with (
        Engine(alone(body), store=store, clock=clock, observers=[ended]) as engine,
        engine.waking(every=60),
    ):
        await ended.wait()
        assert await engine.run(run_id="r") == {"x": START + timedelta(hours=3)}


async def test_what_waits_for_no_time_or_is_of_another_workflow_is_left_alone() -> None:
    async def asks(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("k")}

    @node(provides=["x"], routes=[route.deliver("x")])
    async def other(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(HOUR)
        return {"x": 1}

    store, clock = MemoryStore(), HandClock()
    await suspend(alone(asks), store, clock, "asks")
    await suspend(define_workflow("another", nodes=[other]), store, clock, "other")
    await process(waiting(), CrashingStore(store, 2, before=False), clock=clock, run_id="crashed")
    seen = FactRecorder()
    async with (
        Engine(waiting(), store=store, clock=clock, observers=[seen]) as engine,
        engine.waking(),
    ):
        await moved(clock, 2 * HOUR)
        found = {info.run_id: info.status for info in await engine.runs()}
    assert seen.facts == []
    assert found == {"asks": "suspended", "other": "suspended", "crashed": "interrupted"}


async def test_several_processes_that_wake_go_on_with_a_run_once() -> None:
    done: list[str] = []
    workflow = waiting(then=lambda: done.append("x"))
    store, clock, seen = MemoryStore(), HandClock(), FactRecorder()
    run_ids = [f"r{number}" for number in range(20)]
    await suspend(workflow, store, clock, *run_ids)
    async with (
        Engine(workflow, store=store, clock=clock, observers=[seen]) as one,
        Engine(workflow, store=store, clock=clock, observers=[seen]) as two,
        one.waking(),
        two.waking(),
    ):
        await moved(clock, HOUR)
        assert {info.status for info in await one.runs()} == {"completed"}
    assert len(done) == len(run_ids)
    ends = [fact.kind for fact in seen.facts if fact.kind.startswith("run.")]
    assert sorted(set(ends)) == ["run.completed", "run.resumed"]
    assert ends.count("run.completed") == len(run_ids)


async def test_whoever_comes_too_late_to_resume_tells_observers_nothing_of_the_run() -> None:
    class Late(MemoryStore):
        """Somebody else claims the run right before."""

        async def claim(self, run_id: str, **options: Any) -> Any:
            claim = await super().claim(run_id, **options)
            return (await self.find(run_id=run_id))[0] if options.get("suspended") else claim

    store, clock, seen = Late(), HandClock(), FactRecorder()
    await suspend(waiting(), store, clock)
    async with (
        Engine(waiting(), store=store, clock=clock, observers=[seen]) as engine,
        engine.waking(),
    ):
        await moved(clock, HOUR)
    assert [fact.kind for fact in seen.facts] == []


async def test_a_run_that_fails_and_a_store_that_is_away_end_nothing() -> None:
    class Away(MemoryStore):
        """It cannot be looked into for a while."""

        away = False

        async def find(self, **options: Any) -> Any:
            if self.away and "due" in options:
                raise StoreError("the line was cut")
            return await super().find(**options)

    def fail() -> None:
        raise OSError("no")

    failing = waiting(then=fail)
    store, clock = Away(), HandClock()
    await suspend(failing, store, clock, "one", "two")
    async with Engine(failing, store=store, clock=clock) as engine, engine.waking():
        store.away = True
        await moved(clock, HOUR)
        assert {info.status for info in await engine.runs()} == {"suspended"}
        store.away = False
        await moved(clock, 1)
        assert {info.status for info in await engine.runs()} == {"failed"}
        with pytest.raises(RunSuspended):
            await engine.run(run_id="three")
        await moved(clock, HOUR)
        assert {info.status for info in await engine.runs()} == {"failed"}


async def test_what_the_code_of_today_cannot_go_on_with_is_tried_once() -> None:
    class Watched(MemoryStore):
        reads = 0

        async def read(self, run_id: str, **options: Any) -> Any:
            self.reads += 1
            return await super().read(run_id, **options)

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.suspend("k", _Gone(), timeout=HOUR)
        return {"x": 1}

    store, clock = Watched(), HandClock()
    await suspend(alone(body), store, clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(f"{__name__}._Gone")
        async with Engine(alone(body), store=store, clock=clock) as engine, engine.waking():
            await moved(clock, HOUR)
            read = store.reads
            assert read > 0
            for _ in range(5):
                await moved(clock, 1)
            assert store.reads == read
            with pytest.raises(IncompatibleRun):
                await engine.resume("r")
    assert [info.status for info in await store.find()] == ["suspended"]


@dataclass
class _Gone:
    """What the code of another day does not have any more."""


async def test_only_so_many_go_on_at_the_same_time() -> None:
    at_work: list[int] = [0]
    most: list[int] = [0]
    gate = [anyio.Event()]

    async def work() -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        await gate[0].wait()
        at_work[0] -= 1

    workflow = waiting(then=work)
    store, clock = MemoryStore(), HandClock()
    await suspend(workflow, store, clock, *map(str, range(6)))
    async with Engine(workflow, store=store, clock=clock) as engine, engine.waking(at_once=2):
        for _ in range(3):
            await moved(clock, HOUR)
            open, gate[0] = gate[0], anyio.Event()
            open.set()
        await moved(clock, HOUR)
        assert {info.status for info in await engine.runs()} == {"completed"}
    assert most == [2]


async def test_private_fields_are_supplied_to_a_run_that_is_woken() -> None:
    class State(TypedDict):
        token: Annotated[str, private]

    @node(requires=["token"], routes=[route.finish(lambda state: len(state["token"]))])
    async def only(state: Any, ctx: NodeContext) -> None:
        await ctx.wait(HOUR)

    workflow = define_workflow("w", nodes=[only], state=State, waive={"AF208": "it is supplied"})
    store, clock, ended = MemoryStore(), FixedClock(START), Ended()
    await process(workflow, store, {"token": "s3cr3t"}, clock=clock, run_id="abc")
    async with (
        Engine(workflow, store=store, clock=clock, observers=[ended]) as engine,
        engine.waking(every=60, private=lambda run_id: {"token": run_id}),
    ):
        await ended.wait()
        assert await engine.run(run_id="abc") == 3


async def leave(engine: Engine[Any], clock: HandClock) -> None:
    """Nothing: the block ends."""


async def drain(engine: Engine[Any], clock: HandClock) -> None:
    """Drain the engine, within a second."""
    async with anyio.create_task_group() as group:
        group.start_soon(engine.drain, 1)
        await anyio.wait_all_tasks_blocked()
        await moved(clock, 1)


@pytest.mark.parametrize("end", [leave, drain])
async def test_a_run_that_is_under_way_when_waking_ends_is_left_where_it_is(
    end: Callable[[Engine[Any], HandClock], Awaitable[None]],
) -> None:
    class Watched(MemoryStore):
        looks = 0

        async def find(self, **options: Any) -> Any:
            self.looks += "due" in options
            return await super().find(**options)

    workflow = waiting(then=anyio.sleep_forever)
    store, clock = Watched(), HandClock()
    await suspend(workflow, store, clock, "r")
    async with Engine(workflow, store=store, clock=clock) as engine:
        async with engine.waking():
            await moved(clock, HOUR)
            assert engine.get("r") is not None
            await suspend(workflow, store, clock, "later")
            await end(engine, clock)
            looks = store.looks
            if end is drain:
                await moved(clock, 2 * HOUR)
        await moved(clock, 2 * HOUR)
        assert store.looks == looks
        found = {info.run_id: info.status for info in await engine.runs()}
        assert found == {"r": "interrupted", "later": "suspended"}


async def test_an_error_in_the_block_is_raised_as_it_is() -> None:
    async with Engine(waiting(), store=MemoryStore(), clock=HandClock()) as engine:
        with pytest.raises(OSError, match="mine"):
            async with engine.waking():
                raise OSError("mine")
        with pytest.raises(ValueError, match="every=0: it takes a number of seconds above 0"):
            async with engine.waking(every=0):
                pass
        with anyio.CancelScope() as scope:
            async with engine.waking():
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught


async def test_an_engine_without_a_store_has_nothing_to_wake() -> None:
    with pytest.raises(RuntimeError, match="the engine has no store"):
        Engine(waiting()).waking()
