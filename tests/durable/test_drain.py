"""A drained engine leaves its runs between two visits, ready to go on: not cancelled, nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest

from agentflow import (
    CancelSignal,
    Engine,
    Fact,
    NodeContext,
    RunCancelled,
    RunInterrupted,
    RunSuspended,
    Workflow,
    ask,
    define_workflow,
    node,
    route,
    subflow,
)
from agentflow.stores.memory import MemoryStore
from tests.run.clock import HandClock


class Gate:
    """A place where nodes wait until the test lets them pass."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.opened = anyio.Event()
        self.visits: list[str] = []

    async def pass_(self, name: str) -> None:
        self.visits.append(name)
        self.reached.set()
        await self.opened.wait()


def open_gate() -> Gate:
    """A gate that lets everything pass."""
    gate = Gate()
    gate.opened.set()
    return gate


@asynccontextmanager
async def draining(engine: Engine[Any], *gates: Gate, within: float = 60) -> AsyncIterator[None]:
    """Inside, the engine is being drained while a visit is under way at each gate; the drain has ended after it.

    Args:
        engine: What is drained.
        gates: Where its runs are waited for first.
        within: Seconds that visits may still take.
    """
    async with anyio.create_task_group() as group:
        for gate in gates:
            await gate.reached.wait()
        group.start_soon(engine.drain, within)
        await anyio.wait_all_tasks_blocked()
        yield


def two_steps() -> Workflow[Any]:
    @node(provides=["first"], routes=[route.to("second_step")])
    async def first_step(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.deps.pass_("first")
        return {"first": 1}

    @node(requires=["first"], provides=["sum"], routes=[route.deliver("sum")])
    async def second_step(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.deps.pass_("second")
        return {"sum": state["first"] + 1}

    return define_workflow("two-steps", nodes=[first_step, second_step])


@pytest.mark.case("P076")
async def test_the_visit_under_way_may_finish_and_the_next_one_does_not_begin() -> None:
    store, gate = MemoryStore(), Gate()
    async with (
        Engine(two_steps(), store=store) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate),
    ):
        gate.opened.set()
        await run.settled()
    assert gate.visits == ["first"]
    assert run.status == "interrupted"
    assert [entry.kind for entry in await store.read("r", after=0)] == ["started", "visit"]
    with pytest.raises(RunInterrupted, match="the engine was drained"):
        run.outcome()


async def test_a_drained_run_goes_on_in_another_engine_where_it_was_left() -> None:
    store, gate = MemoryStore(), Gate()
    async with (
        Engine(two_steps(), store=store) as engine,
        engine.start({}, run_id="r", deps=gate),
        draining(engine, gate),
    ):
        gate.opened.set()
    later = open_gate()
    async with Engine(two_steps(), store=store) as engine:
        assert [info.status for info in await engine.runs()] == ["interrupted"]
        assert await engine.run(run_id="r", deps=later) == 2
    assert later.visits == ["second"]


async def test_what_takes_longer_than_the_deadline_is_interrupted_and_made_again() -> None:
    store, gate, clock = MemoryStore(), Gate(), HandClock()
    async with (
        Engine(two_steps(), store=store, clock=clock) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate, within=30),
    ):
        meanwhile = run.status
        clock.move(30)
        await run.settled()
    assert (meanwhile, run.status) == ("running", "interrupted")
    assert [entry.kind for entry in await store.read("r", after=0)] == ["started"]
    later = open_gate()
    async with Engine(two_steps(), store=store) as engine:
        assert await engine.run(run_id="r", deps=later) == 2
    assert later.visits == ["first", "second"]


async def test_every_run_is_left_interrupted_in_the_store_before_the_engine_is_closed() -> None:
    store, clock = MemoryStore(), HandClock()
    gates = [Gate() for _ in range(5)]
    async with Engine(two_steps(), store=store, clock=clock) as engine:
        runs = [engine.start({}, run_id=f"r{at}", deps=gate) for at, gate in enumerate(gates)]
        for run in runs:
            await run.__aenter__()
        async with draining(engine, *gates, within=30):
            for gate in gates[:3]:
                gate.opened.set()
            for run in runs[:3]:
                await run.settled()
            clock.move(30)
        assert {info.status for info in await engine.runs()} == {"interrupted"}
        assert {run.status for run in runs} == {"interrupted"}


async def test_a_run_that_comes_to_its_end_in_the_visit_under_way_is_completed() -> None:
    store, gate = MemoryStore(), Gate()

    @node(provides=["x"], routes=[route.deliver("x")])
    async def only(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.deps.pass_("only")
        return {"x": 1}

    workflow = define_workflow("one", nodes=[only])
    async with (
        Engine(workflow, store=store) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate),
    ):
        gate.opened.set()
        assert await run.result() == 1
    assert [info.status for info in await store.find()] == ["completed"]


async def test_in_a_sub_workflow_too_a_run_stops_after_the_visit_under_way() -> None:
    store, gate = MemoryStore(), Gate()
    outer = define_workflow(
        "outer",
        nodes=[
            subflow("inner", two_steps(), outputs={"sum": "$result"}, routes=[route.deliver("sum")])
        ],
    )
    async with (
        Engine(outer, store=store) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate),
    ):
        gate.opened.set()
        await run.settled()
    assert (gate.visits, run.status) == (["first"], "interrupted")
    later = open_gate()
    async with Engine(outer, store=store) as engine:
        assert await engine.run(run_id="r", deps=later) == 2
    assert later.visits == ["second"]


async def test_an_error_node_does_not_hear_of_a_drain() -> None:
    store, gate = MemoryStore(), Gate()

    @node(provides=["sum"], routes=[route.deliver("sum")])
    async def mend(state: Any) -> dict[str, Any]:
        raise AssertionError("nothing has failed")

    outer = define_workflow(
        "outer",
        nodes=[
            subflow(
                "inner",
                two_steps(),
                outputs={"sum": "$result"},
                on_error="mend",
                routes=[route.deliver("sum")],
            ),
            mend,
        ],
    )
    async with (
        Engine(outer, store=store) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate),
    ):
        gate.opened.set()
        await run.settled()
    assert run.status == "interrupted"


@pytest.mark.case("T035")
async def test_a_drain_is_told_from_a_cancel_by_status_error_and_fact() -> None:
    facts: list[Fact] = []
    ends: dict[str, tuple[str, type[BaseException]]] = {}
    store = MemoryStore()
    for how in ("drained", "cancelled"):
        gate = Gate()
        async with (
            Engine(two_steps(), store=store) as engine,
            engine.start({}, run_id=how, deps=gate, observers=[facts.append]) as run,
        ):
            await gate.reached.wait()
            if how == "drained":
                await engine.drain(0)
            else:
                run.cancel("not wanted")
            with pytest.raises((RunInterrupted, RunCancelled)) as raised:
                await run.result()
            ends[how] = run.status, raised.type
    assert ends == {
        "drained": ("interrupted", RunInterrupted),
        "cancelled": ("cancelled", RunCancelled),
    }
    assert [fact.kind for fact in facts if fact.kind.startswith("run.")] == [
        *("run.started", "run.interrupted"),
        *("run.started", "run.cancelled"),
    ]
    found = {info.run_id: info.status for info in await store.find()}
    assert found == {"drained": "interrupted", "cancelled": "cancelled"}


async def test_a_cancel_counts_as_one_also_while_the_engine_is_drained() -> None:
    store, gate, clock = MemoryStore(), Gate(), HandClock()
    async with (
        Engine(two_steps(), store=store, clock=clock) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate, within=30),
    ):
        assert await engine.cancel("r", "not wanted")
        await run.settled()
    assert run.status == "cancelled"


async def test_a_drained_engine_takes_no_further_runs() -> None:
    async with Engine(two_steps(), store=MemoryStore()) as engine:
        await engine.drain(0)
        with pytest.raises(RuntimeError, match="is closed"):
            await engine.run({}, deps=Gate())


async def test_a_run_that_suspends_meanwhile_is_suspended() -> None:
    store, gate = MemoryStore(), Gate()

    @node(routes=[route.to("question")])
    async def think(state: Any, ctx: NodeContext) -> None:
        await ctx.deps.pass_("think")
        await ctx.suspend("q")

    question = ask("question", prompt="?", answer="a", routes=[route.deliver("a")])
    workflow = define_workflow("asks", nodes=[think, question])
    async with (
        Engine(workflow, store=store) as engine,
        engine.start({}, run_id="r", deps=gate) as run,
        draining(engine, gate),
    ):
        gate.opened.set()
        with pytest.raises(RunSuspended):
            await run.result()
    assert run.status == "suspended"


async def test_without_a_store_runs_may_end_and_are_cancelled_at_the_deadline() -> None:
    quick, slow, clock = Gate(), Gate(), HandClock()
    async with (
        Engine(two_steps(), clock=clock) as engine,
        engine.start({}, deps=quick) as first,
        engine.start({}, deps=slow) as second,
        draining(engine, quick, slow, within=30),
    ):
        quick.opened.set()
        assert await first.result() == 2
        clock.move(30)
        with pytest.raises(RunCancelled, match="the engine was drained"):
            await second.result()
    assert quick.visits == ["first", "second"]
    assert (first.status, second.status) == ("completed", "cancelled")


async def test_who_waits_for_a_run_of_another_process_stops_waiting_and_leaves_it_alone() -> None:
    store, gate = MemoryStore(), Gate()

    class Elsewhere(MemoryStore):
        """The same runs as another process sees them, whose own are none."""

        def __init__(self) -> None:
            super().__init__()
            self._runs = store._runs

        async def close(self) -> None:
            return

    clock = HandClock()
    async with (
        Engine(two_steps(), store=store) as here,
        here.start({}, run_id="r", deps=gate) as driven,
    ):
        await gate.reached.wait()
        async with (
            Engine(two_steps(), store=Elsewhere(), clock=clock) as there,
            there.start({}, run_id="r") as awaited,
        ):
            await anyio.wait_all_tasks_blocked()
            async with draining(there, within=30):
                clock.move(1)
                await awaited.settled()
        assert awaited.status == "interrupted"
        gate.opened.set()
        assert await driven.result() == 2


async def test_recovery_begins_no_further_runs_when_the_engine_is_drained() -> None:
    store, gate = MemoryStore(), Gate()
    async with Engine(two_steps(), store=store) as engine:
        for at in range(3):
            run = engine.start({}, run_id=f"r{at}", deps=gate)
            await run.__aenter__()
        await gate.reached.wait()
        await engine.drain(0)

    again = Gate()

    @node(provides=["first"], routes=[route.to("second_step")])
    async def first_step(state: Any) -> dict[str, Any]:
        await again.pass_("first")
        return {"first": 1}

    @node(requires=["first"], provides=["sum"], routes=[route.deliver("sum")])
    async def second_step(state: Any) -> dict[str, Any]:
        raise AssertionError("the run was to stop before")

    workflow = define_workflow("two-steps", nodes=[first_step, second_step])
    async with (
        Engine(workflow, store=store) as engine,
        anyio.create_task_group() as group,
    ):

        async def recover() -> None:
            runs = await engine.recover(at_once=1)
            assert {run.status for run in runs.values()} == {"interrupted"}
            assert len(runs) == 1

        group.start_soon(recover)
        async with draining(engine, again):
            again.opened.set()
    assert again.visits == ["first"]


async def test_a_signal_of_the_caller_that_many_runs_share_is_not_touched() -> None:
    shared, gate = CancelSignal(), Gate()
    async with (
        Engine(two_steps(), store=MemoryStore()) as engine,
        engine.start({}, signal=shared, deps=gate) as run,
    ):
        await gate.reached.wait()
        await engine.drain(0)
        assert run.status == "interrupted"
    assert not shared.fired


# Retention.


async def finished(store: MemoryStore, run_id: str) -> None:
    async with Engine(two_steps(), store=store) as engine:
        await engine.run({}, run_id=run_id, deps=open_gate())


@pytest.mark.case("P058")
async def test_pruning_deletes_what_has_ended_and_is_old_and_nothing_else() -> None:
    store, gate = MemoryStore(), Gate()
    await finished(store, "old")
    async with Engine(two_steps(), store=store) as engine:
        async with engine.start({}, run_id="left", deps=gate):
            await gate.reached.wait()
        assert await engine.prune(timedelta(days=1)) == 0
        assert await engine.prune(timedelta(days=-1)) == 1
        assert [info.run_id for info in await engine.runs()] == ["left"]
        assert await engine.history("old") == []
        assert await engine.prune(statuses={"interrupted"}) == 1
        assert await engine.runs() == []


@pytest.mark.parametrize("status", ["running", "finished"])
async def test_pruning_refuses_a_status_that_is_none_or_is_driven(status: Any) -> None:
    async with Engine(two_steps(), store=MemoryStore()) as engine:
        with pytest.raises(ValueError, match=f"{status!r} cannot be pruned; there are cancelled"):
            await engine.prune(statuses=[status])


async def test_what_a_run_had_spent_is_known_after_it_was_cancelled_in_the_store() -> None:
    store, gate = MemoryStore(), Gate()
    async with (
        Engine(two_steps(), store=store) as engine,
        engine.start({}, run_id="r", deps=gate),
        draining(engine, gate),
    ):
        gate.opened.set()
    async with Engine(two_steps(), store=store) as engine:
        assert await engine.cancel("r", "not wanted")
        async with engine.start(run_id="r") as run:
            with pytest.raises(RunCancelled, match="not wanted"):
                await run.result()
        assert run.ledger.as_dict()["visits"] == 1
