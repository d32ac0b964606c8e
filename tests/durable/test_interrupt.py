"""Stopping a durable run is no cancel: what nobody has cancelled can go on, and what comes late does not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from agentflow import Engine, NodeContext, RunCancelled, RunInterrupted, RunSuspended
from agentflow.run.entries import Claim, Entry
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.durable.shelf import Place
from tests.run.watching import Recorder
from tests.run.workflows import alone, line


class Door:
    """Holds a node up until it is opened, whatever cancels it if `stubborn`."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.reached = anyio.Event()
        self.opened = anyio.Event()
        self.left = anyio.Event()
        self.stubborn = stubborn
        self.visits = 0
        self.late: list[str] = []

    async def body(self, state: Any, ctx: NodeContext) -> dict[str, Any]:
        self.visits += 1
        if self.visits == 1:
            self.reached.set()
            with anyio.CancelScope(shield=self.stubborn):
                await self.opened.wait()
            try:
                await ctx.once("late", lambda: self.late.append("done"))
            except RunCancelled:
                self.late.append("refused")
            finally:
                self.left.set()
        return {"x": self.visits}


async def kinds(store: MemoryStore) -> list[str]:
    return [entry.kind for entry in await store.read("r", after=0)]


@pytest.mark.case("T035")
@pytest.mark.parametrize("how", ["close", "leave", "caller"])
async def test_a_run_that_is_only_stopped_is_interrupted_and_can_go_on(how: str) -> None:
    door, store, seen = Door(), MemoryStore(), Recorder()
    workflow = alone(door.body)
    engine = Engine(workflow, store=store, observers=[seen])
    if how == "caller":
        async with engine, anyio.create_task_group() as group:

            async def call() -> None:
                await engine.run(run_id="r")

            group.start_soon(call)
            await door.reached.wait()
            group.cancel_scope.cancel()
    elif how == "leave":
        async with engine, engine.start(run_id="r") as run:
            await door.reached.wait()
    else:
        async with engine:
            run = engine.start(run_id="r")
            await run.__aenter__()
            await door.reached.wait()
        with pytest.raises(RunInterrupted, match="the engine was closed"):
            await run.result()
        assert run.status == "interrupted"
    assert seen.kinds[-1] == "run.interrupted"
    assert [info.status for info in await store.find()] == ["interrupted"]
    assert await kinds(store) == ["started"]
    async with Engine(workflow, store=store, observers=[seen]) as engine:
        runs = await engine.recover()
    assert runs["r"].outcome() == {"x": 2}
    assert len(seen.of("run.started")) == 1
    assert len(seen.of("run.resumed")) == 1
    assert seen.kinds[-1] == "run.completed"


async def test_a_cancel_is_for_good() -> None:
    door, store = Door(), MemoryStore()
    async with Engine(alone(door.body), store=store) as engine:
        async with engine.start(run_id="r") as run:
            await door.reached.wait()
            assert await engine.cancel("r", "not wanted")
            with pytest.raises(RunCancelled, match="not wanted"):
                await run.result()
        (ended,) = (await engine.history("r"))[1:]
        assert (ended.kind, ended.data["error"], ended.data["reason"]) == (
            *("ended", "RunCancelled", "not wanted"),
        )
        assert await engine.recover() == {}


async def test_another_engine_cannot_cancel_what_it_does_not_drive() -> None:
    door, store = Door(), MemoryStore()
    workflow = alone(door.body)
    async with (
        Engine(workflow, store=store) as engine,
        Engine(workflow, store=store) as other,
        engine.start(run_id="r") as run,
    ):
        await door.reached.wait()
        assert not await other.cancel("r", "not yours")
        door.opened.set()
        assert await run.result() == {"x": 1}


@pytest.mark.case("P119")
async def test_a_wait_for_the_result_that_is_cancelled_ends_only_the_wait() -> None:
    door, store = Door(), MemoryStore()
    async with Engine(alone(door.body), store=store) as engine, engine.start(run_id="r") as run:
        await door.reached.wait()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run.result()
        assert run.status == "running"
        door.opened.set()
        assert await run.result() == {"x": 1}


@pytest.mark.rule("R322")
@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_what_a_body_does_after_its_run_was_stopped_is_not_recorded(how: str) -> None:
    door, store = Door(stubborn=True), MemoryStore()
    workflow = alone(door.body)
    async with Engine(workflow, store=store) as engine:
        async with engine.start(run_id="r") as run:
            await door.reached.wait()
            if how == "cancel":
                run.cancel()
                await run.settled()
        before = await store.read("r", after=0)
        status = {"cancel": "cancelled", "leave": "interrupted"}[how]
        assert run.status == status
        door.opened.set()
        await door.left.wait()
        await anyio.wait_all_tasks_blocked()
        assert door.late == ["refused"]
        assert await store.read("r", after=0) == before
        assert "x" not in run.state
        assert [info.status for info in await engine.runs()] == [status]
        if how == "leave":
            assert await engine.run(run_id="r") == {"x": 2}


class SlowStore(CrashingStore):
    """A store that can be held up in the middle of a write."""

    def __init__(self, inner: MemoryStore, at: int) -> None:
        super().__init__(inner, 0, before=True)
        self.hold = at
        self.reached = anyio.Event()
        self.opened = anyio.Event()

    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        if self.writes + 1 == self.hold:
            self.reached.set()
            with anyio.CancelScope(shield=True):
                await self.opened.wait()
        await super().append(claim, entries, **options)


@pytest.mark.parametrize("at", [2, 3, 4])
@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_a_write_that_is_under_way_is_seen_to_its_end(at: int, how: str) -> None:
    async def first(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.once("act", lambda: place.act("act"))}

    async def second(state: Any) -> dict[str, Any]:
        return {"y": 1}

    place, store = Place(), MemoryStore()
    slow = SlowStore(store, at)
    workflow = line(first, second)
    async with (
        Engine(workflow, store=slow) as engine,
        anyio.create_task_group() as group,
        engine.start(run_id="r") as run,
    ):
        await slow.reached.wait()

        async def open_soon() -> None:
            await anyio.wait_all_tasks_blocked()
            slow.opened.set()

        group.start_soon(open_soon)
        if how == "cancel":
            run.cancel()
            await run.settled()
    entries = await store.read("r", after=0)
    expected = ["started", "effect", "visit", "visit", "ended"]
    assert [entry.kind for entry in entries][:at] == expected[:at]
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert place.done == {"act": 1}
    if at == 4:
        # The last visit and the end: when they are being written, it is too late for anything else.
        assert run.status == "completed"
    elif how == "cancel":
        assert entries[-1].kind == "ended"
        assert run.status == "cancelled"
    else:
        assert run.status == "interrupted"
        run = await process(workflow, store)
        assert run.outcome() == {"x": "did act", "y": 1}
        assert place.done == {"act": 1}


async def test_runs_without_an_id_get_one_and_can_be_asked_for_by_it() -> None:
    async def body(state: Any) -> dict[str, Any]:
        return {"x": 1}

    store = MemoryStore()
    async with Engine(alone(body), store=store) as engine:
        for _ in range(2):
            await engine.run()
        first, second = await engine.runs()
        assert first.run_id != second.run_id
        assert await engine.run(run_id=first.run_id) == {"x": 1}
        assert len(await engine.runs()) == 2


async def test_a_suspended_run_is_held_nowhere() -> None:
    import gc
    import weakref

    class Payload:
        pass

    held: list[weakref.ref[Payload]] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        payload = Payload()
        held.append(weakref.ref(payload))
        await ctx.suspend("k")
        return {"x": repr(payload)}

    store = MemoryStore()
    async with Engine(alone(body), store=store) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        assert engine.get("r") is None
        await anyio.lowlevel.checkpoint()
        gc.collect()
        assert held[0]() is None
