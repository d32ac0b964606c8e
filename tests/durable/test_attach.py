"""A run id is an idempotency key: whatever the run is doing, asking for it again never makes a second one."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    NodeContext,
    RunCancelled,
    RunConflict,
    RunInterrupted,
    RunSuspended,
    Workflow,
    define_workflow,
    node,
    route,
)
from agentflow.errors import RunFailed
from agentflow.run.entries import Entry
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore, process
from tests.run.watching import Recorder
from tests.run.workflows import alone, line


class Bench:
    """What nodes work on: it counts their visits, and holds one up until it is let go."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.reached = anyio.Event()
        self.opened = anyio.Event()

    async def hold(self, name: str) -> None:
        self.visits.append(name)
        self.reached.set()
        await self.opened.wait()


def adding(id: str = "adding", *, inputs: list[str] | None = None) -> Workflow[Any]:
    @node(requires=["n"], provides=["m"], routes=[route.to("second")])
    async def first(state: Any, ctx: NodeContext) -> dict[str, Any]:
        ctx.deps.visits.append("first")
        return {"m": state["n"] + 1}

    @node(requires=["m"], provides=["sum"], routes=[route.deliver("sum")])
    async def second(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.deps.hold("second")
        return {"sum": state["m"] * 10}

    return define_workflow(id, nodes=[first, second], inputs=inputs or ["n"])


async def kinds(store: MemoryStore, run_id: str = "r") -> list[str]:
    return [entry.kind for entry in await store.read(run_id, after=0)]


@pytest.mark.case("P049")
async def test_a_finished_run_returns_its_result_and_runs_nothing() -> None:
    store, bench = MemoryStore(), Bench()
    bench.opened.set()
    for _ in range(3):
        async with Engine(adding(), store=store) as engine:
            assert await engine.run({"n": 1}, run_id="r", deps=bench) == 20
    assert bench.visits == ["first", "second"]
    assert await kinds(store) == ["started", "visit", "visit", "ended"]


async def test_a_finished_run_is_told_with_its_state_and_what_it_spent() -> None:
    store, bench, clock = MemoryStore(), Bench(), FixedClock()
    async with Engine(adding(), store=store, clock=clock) as engine:
        async with engine.start({"n": 1}, run_id="r", deps=bench) as run:
            await bench.reached.wait()
            clock.advance(3)
            bench.opened.set()
            await run.result()
        clock.advance(100)
        async with engine.start({"n": 1}, run_id="r") as again:
            assert await again.result() == 20
    assert dict(again.state) == dict(run.state) == {"n": 1, "m": 2, "sum": 20}
    assert (
        again.ledger.as_dict() == run.ledger.as_dict() == {"rounds": 1, "visits": 2, "seconds": 3}
    )
    assert again.status == "completed"


async def test_a_result_is_told_although_the_definition_has_changed_since() -> None:
    store, bench = MemoryStore(), Bench()
    bench.opened.set()
    async with Engine(adding(), store=store) as engine:
        await engine.run({"n": 1}, run_id="r", deps=bench)

    @node(requires=["n"], provides=["other"], routes=[route.deliver("other")])
    async def only(state: Any) -> dict[str, Any]:
        return {"other": 0}

    changed = define_workflow("adding", nodes=[only], inputs=["n"])
    async with Engine(changed, store=store) as engine:
        assert await engine.run({"n": 1}, run_id="r") == 20


async def test_asking_without_input_asks_for_the_run_whatever_it_was_given() -> None:
    store, bench = MemoryStore(), Bench()
    bench.opened.set()
    async with Engine(adding(), store=store) as engine:
        await engine.run({"n": 1}, run_id="r", deps=bench)
        assert await engine.run(run_id="r") == 20


async def test_a_failure_is_told_again_as_the_failure_of_that_run() -> None:
    async def fail(state: Any) -> None:
        raise ValueError("no \ud800 way")

    store = MemoryStore()
    async with Engine(alone(fail), store=store) as engine:
        with pytest.raises(ValueError, match="no"):
            await engine.run(run_id="r")
        with pytest.raises(RunFailed, match=r"run 'r' has failed: ValueError: no .* way"):
            await engine.run(run_id="r")
    assert (await store.find())[0].status == "failed"


async def test_an_input_that_is_refused_is_the_failure_of_its_run() -> None:
    store = MemoryStore()
    async with Engine(adding(), store=store) as engine:
        for _ in range(2):
            with pytest.raises((ContractError, RunFailed), match="no input field 'x'"):
                await engine.run({"x": 1}, run_id="r")
        (info,) = await engine.runs()
    assert info.status == "failed"


async def test_a_spent_budget_is_told_again_with_its_figures() -> None:
    store, bench = MemoryStore(), Bench()
    async with Engine(adding(), store=store) as engine:
        for budget in (Budget(visits=1), None):
            with pytest.raises(BudgetExceeded) as caught:
                await engine.run({"n": 1}, run_id="r", deps=bench, budget=budget)
            error = caught.value
            assert (error.limit, error.allowed, error.used) == ("visits", 1, 2)


@pytest.mark.case("P106")
async def test_a_cancelled_run_stays_cancelled() -> None:
    store, bench = MemoryStore(), Bench()
    async with Engine(adding(), store=store) as engine:
        async with engine.start({"n": 1}, run_id="r", deps=bench) as run:
            await bench.reached.wait()
            run.cancel("not wanted")
            with pytest.raises(RunCancelled):
                await run.result()
        bench.opened.set()
        with pytest.raises(RunCancelled, match="not wanted"):
            await engine.run({"n": 1}, run_id="r", deps=bench)
        assert await engine.recover(deps=bench) == {}
        assert [info.status for info in await engine.runs()] == ["cancelled"]
    assert bench.visits == ["first", "second"]
    assert "sum" not in run.state


async def test_an_interrupted_run_goes_on_from_its_last_record() -> None:
    store, bench = MemoryStore(), Bench()
    async with Engine(adding(), store=store) as engine:
        async with engine.start({"n": 1}, run_id="r", deps=bench) as run:
            await bench.reached.wait()
        assert run.status == "interrupted"
        bench.opened.set()
        assert await engine.run({"n": 1}, run_id="r", deps=bench) == 20
    assert bench.visits == ["first", "second", "second"]
    assert await kinds(store) == ["started", "visit", "resumed", "visit", "ended"]


@pytest.mark.parametrize("engines", ["one", "two"])
async def test_a_run_that_a_live_engine_drives_is_waited_for(engines: str) -> None:
    store, bench, found = MemoryStore(), Bench(), []
    workflow = adding()
    first = Engine(workflow, store=store)
    second = first if engines == "one" else Engine(workflow, store=store, clock=FixedClock())

    async def ask() -> None:
        found.append(await second.run({"n": 1}, run_id="r", deps=bench))

    async with first, anyio.create_task_group() as group:
        if second is not first:
            await second.__aenter__()
        async with engines_run(first, bench) as run:
            await bench.reached.wait()
            for _ in range(3):
                group.start_soon(ask)
            await anyio.lowlevel.checkpoint()
            bench.opened.set()
            assert await run.result() == 20
    assert found == [20, 20, 20]
    assert bench.visits == ["first", "second"]
    assert await kinds(store) == ["started", "visit", "visit", "ended"]


def engines_run(engine: Engine[Any], bench: Bench) -> Any:
    return engine.start({"n": 1}, run_id="r", deps=bench)


async def test_a_waiting_caller_that_is_cancelled_leaves_the_run_alone() -> None:
    store, bench = MemoryStore(), Bench()
    workflow = adding()
    async with (
        Engine(workflow, store=store) as engine,
        Engine(workflow, store=store) as other,
        engine.start({"n": 1}, run_id="r", deps=bench) as run,
    ):
        await bench.reached.wait()
        for waiting in (engine, other):
            async with waiting.start({"n": 1}, run_id="r") as second:
                await anyio.lowlevel.checkpoint()
            assert second.status == "interrupted"
            assert second is not run
        assert engine.get("r") is run
        bench.opened.set()
        assert await run.result() == 20


async def test_who_waits_in_the_engine_takes_over_when_the_driver_leaves() -> None:
    store, bench, found = MemoryStore(), Bench(), []
    async with Engine(adding(), store=store) as engine, anyio.create_task_group() as group:

        async def ask() -> None:
            found.append(await engine.run({"n": 1}, run_id="r", deps=bench))

        async with engine.start({"n": 1}, run_id="r", deps=bench):
            await bench.reached.wait()
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
        heir = engine.get("r")
        assert heir is not None
        bench.opened.set()
    assert found == [20]
    assert bench.visits == ["first", "second", "second"]


async def test_closing_an_engine_ends_those_who_wait_too() -> None:
    store, bench, raised = MemoryStore(), Bench(), []
    async with anyio.create_task_group() as group, Engine(adding(), store=store) as engine:

        async def ask() -> None:
            with pytest.raises(RunInterrupted) as caught:
                await engine.run({"n": 1}, run_id="r", deps=bench)
            raised.append(str(caught.value))

        for _ in range(2):
            group.start_soon(ask)
        await bench.reached.wait()
        await anyio.wait_all_tasks_blocked()
    assert len(raised) == 2
    assert bench.visits == ["first", "second"]
    assert (await store.find())[0].status == "interrupted"


CONFLICTS = ["interrupted", "suspended", "running", "completed"]


@pytest.mark.parametrize("status", CONFLICTS)
async def test_another_input_is_a_conflict_and_changes_nothing(status: str) -> None:
    store, bench = MemoryStore(), Bench()
    workflow = asking()
    async with Engine(workflow, store=store) as engine, anyio.create_task_group() as group:
        await bring_to(status, engine, bench, group)
        before = await store.read("r", after=0)
        for input in ({"n": 2}, {}, {"n": "1"}):
            with pytest.raises(RunConflict, match="another input"):
                await engine.run(input, run_id="r", deps=bench)
        assert await store.read("r", after=0) == before
        assert [info.status for info in await engine.runs()] == [status]
        bench.opened.set()
        await settle(engine, bench)


@pytest.mark.parametrize("status", CONFLICTS)
async def test_another_workflow_is_a_conflict_and_changes_nothing(status: str) -> None:
    store, bench = MemoryStore(), Bench()
    async with (
        Engine(asking(), store=store) as engine,
        Engine(adding("other"), store=store) as other,
        anyio.create_task_group() as group,
    ):
        await bring_to(status, engine, bench, group)
        before = await store.read("r", after=0)
        with pytest.raises(RunConflict, match="one of workflow 'asking', not of 'other'"):
            await other.run({"n": 1}, run_id="r", deps=bench)
        with pytest.raises(RunConflict, match="one of workflow 'asking', not of 'other'"):
            await other.resume("r", True)
        assert await store.read("r", after=0) == before
        assert [info.status for info in await engine.runs()] == [status]
        await settle(engine, bench)


def asking() -> Workflow[Any]:
    """A workflow that can be brought to a stop in every way."""

    @node(requires=["n"], provides=["m"], routes=[route.to("second")])
    async def first(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"m": state["n"] if ctx.deps.opened.is_set() else await waited(ctx, state["n"])}

    @node(requires=["m"], provides=["sum"], routes=[route.deliver("sum")])
    async def second(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"sum": state["m"]}

    return define_workflow("asking", nodes=[first, second], inputs=["n"])


async def waited(ctx: NodeContext, n: int) -> int:
    if ctx.deps.visits == ["ask"]:
        await ctx.suspend("more")
    await ctx.deps.hold("first")
    return n


async def bring_to(status: str, engine: Engine[Any], bench: Bench, group: Any) -> None:
    """Start run `r` and leave it in a status."""
    if status == "suspended":
        bench.visits.append("ask")
        with pytest.raises(RunSuspended):
            await engine.run({"n": 1}, run_id="r", deps=bench)
    elif status == "completed":
        bench.opened.set()
        await engine.run({"n": 1}, run_id="r", deps=bench)
    elif status == "interrupted":
        async with engine.start({"n": 1}, run_id="r", deps=bench):
            await bench.reached.wait()
    else:

        async def drive() -> None:
            await engine.run({"n": 1}, run_id="r", deps=bench)

        group.start_soon(drive)
        await bench.reached.wait()


async def settle(engine: Engine[Any], bench: Bench) -> None:
    """Show that the run comes to its end all the same."""
    bench.opened.set()
    (info,) = await engine.runs()
    if info.status == "suspended":
        assert await engine.resume("r", True, deps=bench) == 1
    else:
        assert await engine.run({"n": 1}, run_id="r", deps=bench) == 1


async def test_an_input_that_cannot_be_stored_leaves_no_run_behind() -> None:
    store = MemoryStore()
    async with Engine(alone(lambda state: None), store=store) as engine:
        with pytest.raises(ContractError, match=r"the input of run 'r' cannot be stored: .*object"):
            await engine.run({"x": object()}, run_id="r")
        assert await engine.runs() == []


async def test_a_run_that_died_before_its_first_record_begins_when_it_is_asked_for_again() -> None:
    store, bench = MemoryStore(), Bench()
    bench.opened.set()
    run = await process(adding(), CrashingStore(store, 1, before=True), {"n": 1}, deps=bench)
    assert run.status == "interrupted"
    async with Engine(adding(), store=store) as engine:
        # Nobody knows its input any more, so it cannot go on by itself.
        assert await engine.recover(deps=bench) == {}
        assert await engine.run({"n": 1}, run_id="r", deps=bench) == 20


@pytest.mark.case("T035")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_run_that_the_loop_shuts_down_can_go_on() -> None:
    store, tried = MemoryStore(), 0

    async def body(state: Any) -> dict[str, Any]:
        nonlocal tried
        tried += 1
        if tried == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        return {"x": 1}

    async with Engine(alone(body), store=store) as engine:
        with pytest.raises(RunInterrupted, match="from outside"):
            await engine.run(run_id="r")
        assert [info.status for info in await engine.runs()] == ["interrupted"]
        assert await engine.run(run_id="r") == {"x": 1}


@pytest.mark.case("P050")
async def test_a_node_that_was_under_way_runs_again() -> None:
    done: list[str] = []

    async def a(state: Any) -> dict[str, Any]:
        done.append("a")
        return {"x": 1}

    async def b(state: Any) -> dict[str, Any]:
        done.append("b")
        return {"y": state["x"] + 1}

    store = MemoryStore()
    workflow = line(a, b)
    # The third write is that of b: it has run, and is not recorded.
    await process(workflow, CrashingStore(store, 3, before=True))
    async with Engine(workflow, store=store) as engine:
        assert await engine.run(run_id="r") == {"x": 1, "y": 2}
    assert done == ["a", "b", "b"]


async def test_recovery_goes_on_with_every_run_and_gives_each_what_it_needs() -> None:
    store, bench, seen = MemoryStore(), Bench(), Recorder()
    async with Engine(adding(), store=store) as engine:
        for number in range(5):
            async with engine.start({"n": number}, run_id=f"r{number}", deps=bench):
                await bench.reached.wait()
                bench.reached = anyio.Event()
    bench.opened.set()
    async with Engine(adding(), store=store) as engine:
        runs = await engine.recover(at_once=2, deps=bench, observers=[seen])
        assert {id: run.outcome() for id, run in runs.items()} == {
            f"r{number}": (number + 1) * 10 for number in range(5)
        }
        assert len(seen.of("run.resumed")) == 5
        assert await engine.recover() == {}


async def test_a_store_may_hold_any_number_of_runs_to_recover() -> None:
    class Many(MemoryStore):
        async def find(self, *, limit: int = 1000, **options: Any) -> list[Any]:
            return await super().find(limit=min(limit, 5_000), **options)

    store = Many()
    await fill(store, 1_001)
    async with Engine(alone(nothing_more), store=store) as engine:
        assert len(await engine.recover()) == 1_001


async def nothing_more(state: Any) -> dict[str, Any]:
    return {"x": 1}


async def fill(store: MemoryStore, count: int) -> None:
    """Put runs into a store that have begun and are driven by nobody."""
    from agentflow.run.entries import Claim, NewRun

    workflow = alone(nothing_more)
    for number in range(count):
        new = NewRun(
            workflow_id=workflow.id,
            workflow_version=workflow.version,
            fingerprint=workflow.fingerprint,
            created=FixedClock().now(),
        )
        claim = await store.claim(f"r{number:05}", new=new)
        assert isinstance(claim, Claim)
        await store.append(claim, [Entry(1, "started", '{"input":null}')], status="interrupted")
