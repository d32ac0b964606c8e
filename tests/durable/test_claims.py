"""Two drivers of one run: one commits. A store that fails: nothing is lost, and nothing is taken for a failure of a node."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import (
    Engine,
    NodeContext,
    Retry,
    RunCancelled,
    RunInterrupted,
    StaleClaim,
    StoreError,
    define_workflow,
    node,
    route,
)
from agentflow.run.entries import Claim
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore, FailingStore, process
from tests.durable.trial import Trial
from tests.durable.workflows import BUDGET, INPUT, World, everything
from tests.run.watching import Recorder
from tests.run.workflows import alone, line

WORKFLOW = everything()
TRIAL = Trial(WORKFLOW, INPUT, BUDGET)


def taken_over(store: MemoryStore, run_id: str = "r") -> None:
    """Make the store believe that the driver of a run is dead."""
    store._give_back(store._runs[run_id], "interrupted")


async def test_a_driver_that_was_overtaken_commits_nothing_more() -> None:
    store, world = MemoryStore(), World()
    held, opened = anyio.Event(), anyio.Event()
    told: list[str] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        told.append(f"visit by {ctx.deps}")
        if ctx.deps == "old":
            held.set()
            await opened.wait()
        return {"x": ctx.deps}

    workflow = alone(body)
    seen = Recorder()
    async with Engine(workflow, store=store) as old, Engine(workflow, store=store) as new:
        async with old.start(run_id="r", deps="old", observers=[seen]) as run:
            await held.wait()
            taken_over(store)
            assert await new.run(run_id="r", deps="new") == {"x": "new"}
            opened.set()
            with pytest.raises(StaleClaim, match="somebody else"):
                await run.result()
        assert run.status == "interrupted"
        assert seen.kinds[-1] == "run.interrupted"
        assert await old.run(run_id="r") == {"x": "new"}
    entries = await store.read("r", after=0)
    assert [entry.kind for entry in entries] == ["started", "resumed", "visit", "ended"]
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert world.done == {}


async def test_an_effect_of_an_overtaken_driver_is_not_handed_out() -> None:
    store = MemoryStore()
    given: list[Any] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        if ctx.deps == "old":
            taken_over(store)
            claim = await store.claim("r")
            assert isinstance(claim, Claim)
        given.append(await ctx.once("pay", lambda: "paid"))
        return {"x": 1}

    async with Engine(alone(body, retry=Retry(3)), store=store) as engine:
        with pytest.raises(StaleClaim):
            await engine.run(run_id="r", deps="old")
    assert given == []


async def test_two_engines_that_fight_for_one_run_drive_it_once() -> None:
    store, world = MemoryStore(), World()
    calm_world = World()
    calm, _ = await TRIAL.undisturbed(calm_world)
    found: list[Any] = []

    clock, all_done = FixedClock(), anyio.Event()

    async def fight() -> None:
        async with Engine(WORKFLOW, store=store, budget=BUDGET, clock=clock) as engine:
            found.append(await engine.run(INPUT, run_id="r", deps=world))
            if len(found) == 4:
                all_done.set()
            # The store goes with the first engine that is closed.
            await all_done.wait()

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(fight)
    assert found == [calm.result] * 4
    assert world.done == calm_world.done


async def test_a_store_that_fails_ends_no_run() -> None:
    """Each call of the store fails once, in turn; the run is interrupted, and ends as undisturbed afterwards."""
    calm_world = World()
    calm, _ = await TRIAL.undisturbed(calm_world)
    counting = FailingStore(MemoryStore(), "none", 0)
    assert await TRIAL.drive(counting, World()) is not None
    assert counting.calls["append"] > 20
    for call, times in counting.calls.items():
        for at in range(1, times + 1):
            for done in {False, call == "append"}:
                inner, world = MemoryStore(), World()
                store = FailingStore(inner, call, at, done=done)
                run = await process(WORKFLOW, store, INPUT, deps=world, budget=BUDGET)
                if call in ("claim", "append"):
                    assert run.status == "interrupted", (call, at, done)
                    with pytest.raises(StoreError, match="the line was cut"):
                        run.outcome()
                outcome = await TRIAL.drive(inner, world)
                assert outcome is not None
                assert (outcome.result, outcome.used) == (calm.result, calm.used)
                assert outcome.numbers == list(range(1, len(outcome.numbers) + 1))
                assert set(world.done) == set(calm_world.done)
                assert sum(world.done.values()) <= sum(calm_world.done.values()) + 1


async def test_a_failure_to_record_is_no_failure_of_the_node() -> None:
    """Neither a retry nor an error node may take it: what has happened is not known."""
    handled: list[str] = []

    @node(provides=["x"], retry=Retry(3), on_error="mend", routes=[route.deliver("x")])
    async def pay(state: Any, ctx: NodeContext) -> dict[str, Any]:
        handled.append(f"attempt {ctx.attempt}")
        return {"x": await ctx.once("pay", lambda: 1)}

    @node(provides=["x"], routes=[route.deliver("x")])
    async def mend(state: Any) -> dict[str, Any]:
        handled.append("mended")
        return {"x": 0}

    workflow = define_workflow("w", nodes=[pay, mend])
    inner = MemoryStore()
    # The second append is that of the effect.
    async with Engine(workflow, store=FailingStore(inner, "append", 2)) as engine:
        with pytest.raises(StoreError, match="append 2"):
            await engine.run(run_id="r")
    assert handled == ["attempt 1"]
    async with Engine(workflow, store=inner) as engine:
        assert await engine.run(run_id="r") == 1


async def test_nothing_is_written_after_a_write_whose_fate_is_unknown() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        try:
            await ctx.once("pay", lambda: 1)
        except Exception:
            # An author who takes every error for his own must not make the run go on from a guess.
            return {"x": "guessed"}
        return {"x": "known"}

    for done in (False, True):
        inner = MemoryStore()
        async with Engine(alone(body), store=FailingStore(inner, "append", 2, done=done)) as engine:
            with pytest.raises(StoreError, match="append 2"):
                await engine.run(run_id="r")
        async with Engine(alone(body), store=inner) as engine:
            assert await engine.run(run_id="r") == {"x": "known"}


@pytest.mark.parametrize("done", [True, False], ids=["written", "not written"])
async def test_a_run_whose_end_was_not_acknowledged_delivers_again(done: bool) -> None:
    """The last visit and the end are one write: either both are there, or neither is and the visit is made again."""
    visits: list[int] = []

    async def body(state: Any) -> dict[str, Any]:
        visits.append(1)
        return {"x": 1}

    inner = MemoryStore()
    async with Engine(alone(body), store=FailingStore(inner, "append", 2, done=done)) as engine:
        with pytest.raises(StoreError):
            await engine.run(run_id="r")
    kinds = [entry.kind for entry in await inner.read("r", after=0)]
    assert kinds == (["started", "visit", "ended"] if done else ["started"])
    async with Engine(alone(body), store=inner) as engine:
        assert await engine.run(run_id="r") == {"x": 1}
    assert len(visits) == (1 if done else 2)


async def test_a_store_that_cannot_be_read_to_recover_says_so() -> None:
    store = FailingStore(MemoryStore(), "find", 1)
    async with Engine(WORKFLOW, store=store) as engine:
        with pytest.raises(StoreError, match="find 1"):
            await engine.recover()


class SlowStore(CrashingStore):
    """A store whose claims take longer than a run that is stopped gets to clean up."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner, 0, before=True)
        self.asked = anyio.Event()
        self.answer = anyio.Event()

    async def claim(self, run_id: str, **options: Any) -> Any:
        self.asked.set()
        await self.answer.wait()
        return await super().claim(run_id, **options)


@pytest.mark.parametrize("by", ["cancel", "close"])
async def test_a_run_that_is_stopped_while_it_is_claimed_is_not_left_claimed(by: str) -> None:
    inner = MemoryStore()
    store = SlowStore(inner)
    workflow = line(_one, _one)
    engine = Engine(workflow, store=store)
    async with engine, engine.start(run_id="r") as run:
        await store.asked.wait()
        if by == "cancel":
            run.cancel("not wanted")
            await run.settled()
    assert run.status == {"cancel": "cancelled", "close": "interrupted"}[by]
    store.answer.set()
    while await _is_driven(inner):
        await anyio.lowlevel.checkpoint()
    async with Engine(workflow, store=inner) as engine:
        if by == "cancel":
            with pytest.raises(RunCancelled, match="not wanted"):
                await engine.run(run_id="r")
        else:
            assert await engine.run(run_id="r") == {"x": 1}


async def _one(state: Any) -> dict[str, Any]:
    return {"x": 1}


async def _is_driven(store: MemoryStore) -> bool:
    found = await store.find()
    return not found or found[0].status == "running"


async def test_a_run_with_a_cancelled_signal_is_recorded_as_cancelled() -> None:
    from agentflow import CancelSignal

    signal = CancelSignal()
    signal.cancel("too late")
    store = MemoryStore()
    async with Engine(line(_one), store=store) as engine:
        with pytest.raises(RunCancelled, match="too late"):
            await engine.run(run_id="r", signal=signal)
        assert [info.status for info in await engine.runs()] == ["cancelled"]


async def test_an_error_of_another_run_that_a_node_waits_for_is_a_failure_of_the_node() -> None:
    async def wait(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("ask")}

    async def interrupted(state: Any) -> dict[str, Any]:
        raise RunInterrupted("the other run was stopped")

    inner = Engine(alone(wait), store=MemoryStore())

    async def outer(state: Any) -> dict[str, Any]:
        return {"x": await inner.run(run_id="inner")}

    store = MemoryStore()
    async with inner:
        for body in (outer, interrupted):
            for kept in (None, store):
                run = await process(alone(body), kept, run_id=body.__name__)
                assert run.status == "failed"
                assert run.requests == ()
    assert {info.status for info in await store.find()} == {"failed"}
