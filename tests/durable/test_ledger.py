"""What a run has spent is spent, whatever happens to its processes: limits hold over all of its lives."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    Engine,
    NodeContext,
    Retry,
    RunSuspended,
    Uses,
    define_workflow,
    field,
    node,
    route,
    subflow,
)
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore, process
from tests.durable.shelf import double, model
from tests.run.workflows import alone


async def test_visits_and_rounds_are_limited_over_all_lives() -> None:
    @node(
        provides=["n"],
        starts_round=True,
        routes=[route.to("turn", field("n") < 50), route.to("end")],
    )
    async def turn(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"n": ctx.visit}

    @node(routes=[route.deliver("n")])
    async def end(state: Any) -> None: ...

    workflow = define_workflow("w", nodes=[turn, end], max_rounds=60)
    for budget in (Budget(visits=7), Budget(rounds=7)):
        store = MemoryStore()
        for _ in range(3):
            # Each life makes two visits, the first one also the entry that begins it.
            await process(workflow, CrashingStore(store, 3, before=False), budget=budget)
        run = await process(workflow, store, budget=budget)
        assert isinstance(run._error, BudgetExceeded)
        assert run.state["n"] == 7
        assert (run._error.allowed, run._error.used) == (7, 8)


async def test_a_visit_that_is_suspended_again_and_again_counts_once() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        said = [await ctx.suspend(f"question {number}") for number in range(5)]
        return {"x": said}

    store = MemoryStore()
    budget = Budget(visits=1, rounds=1)
    async with Engine(alone(body), store=store, budget=budget) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        for number in range(4):
            with pytest.raises(RunSuspended):
                await engine.resume("r", number)
        async with engine.reopen("r", 4) as run:
            assert await run.result() == {"x": [0, 1, 2, 3, 4]}
        assert run.ledger.as_dict() | {"seconds": 0} == {"rounds": 1, "visits": 1, "seconds": 0}


async def test_a_sub_workflow_that_is_suspended_counts_its_rounds_and_visits_once() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("why?")}

    inner = define_workflow(
        "inner", nodes=[node(body, provides=["x"], routes=[route.deliver("x")])]
    )
    outer = define_workflow(
        "outer",
        nodes=[subflow("into", inner, outputs={"y": "$result"}, routes=[route.deliver("y")])],
    )
    store = MemoryStore()
    async with Engine(outer, store=store, budget=Budget(visits=2, rounds=2)) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r")
        async with engine.reopen("r", "so") as run:
            assert await run.result() == "so"
        assert (run.ledger.used("visits"), run.ledger.used("rounds")) == (2, 2)


async def test_an_attempt_that_failed_without_an_effect_counts_its_visit_once() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        if ctx.attempt == 1:
            raise OSError("not yet")
        return {"x": 1}

    store = MemoryStore()
    workflow = alone(body, retry=Retry(2))
    # The second write is that of the failed attempt.
    await process(workflow, CrashingStore(store, 2, before=False))
    run = await process(workflow, store)
    assert run.outcome() == {"x": 1}
    assert run.ledger.used("visits") == 1


async def test_calls_are_limited_over_all_lives_of_a_run() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        for number in range(9):
            await ctx.model.invoke(f"number {number}")
            await ctx.tools.invoke("double", {"n": number})
        return {"x": 1}

    for budget in (Budget(model_calls=4), Budget(tool_calls=3)):
        store, provider = MemoryStore(), model()
        options: dict[str, Any] = {"model": provider, "tools": [double], "budget": budget}
        for _ in range(2):
            await process(alone(body), CrashingStore(store, 3, before=False), **options)
        run = await process(alone(body), store, **options)
        assert isinstance(run._error, BudgetExceeded)
        assert run._error.used == run._error.allowed + 1
        assert len(provider.requests) == 4


@pytest.mark.parametrize("deep", [False, True])
async def test_the_share_of_a_visit_is_limited_over_its_attempts_and_lives(deep: bool) -> None:
    """A node may spend so much in a visit, all below it included; a crash gives it no more."""

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        for number in range(9):
            await ctx.model.invoke(f"number {number} of attempt {ctx.attempt}")
            if number == 1 and ctx.attempt == 1:
                raise OSError("not yet")
        return {"x": 1}

    options: dict[str, Any] = {"retry": Retry(2)}
    if deep:
        turns = define_workflow(
            "turns",
            nodes=[
                node(
                    _one_call,
                    id="call",
                    provides=["n"],
                    starts_round=True,
                    routes=[route.to("call", field("n") < 9), route.to("end")],
                ),
                node(_nothing, id="end", routes=[route.deliver("n")]),
            ],
            max_rounds=9,
        )
        only = subflow(
            "only",
            turns,
            outputs={"x": "$result"},
            uses=Uses(model_calls=5),
            routes=[route.deliver("x")],
            waive={"AF305": "this is what is shown"},
        )
        workflow = define_workflow("outer", nodes=[only])
    else:
        workflow = alone(body, uses=Uses(model_calls=5), **options)
    for lives in ([], [2], [3, 2], [4, 2, 2], [2, 2, 2, 2]):
        store, provider = MemoryStore(), model()
        for at in lives:
            await process(workflow, CrashingStore(store, at, before=False), model=provider)
        run = await process(workflow, store, model=provider)
        assert isinstance(run._error, BudgetExceeded), lives
        assert (run._error.limit, run._error.allowed, run._error.used) == ("model_calls", 5, 6)
        assert len(provider.requests) == 5
        assert run.ledger.used("model_calls") == 5


async def _one_call(state: Any, ctx: NodeContext) -> dict[str, Any]:
    await ctx.model.invoke(f"visit {ctx.visit}")
    return {"n": ctx.visit}


async def _nothing(state: Any) -> None: ...


async def test_seconds_are_active_seconds_and_add_up() -> None:
    """Neither the time of a suspension counts, nor that between two processes, nor the wait for another driver."""
    clock = FixedClock()

    async def work(state: Any, ctx: NodeContext) -> dict[str, Any]:
        clock.advance(4)
        answer = await ctx.suspend("go on?")
        clock.advance(5)
        return {"x": answer}

    async def more(state: Any) -> dict[str, Any]:
        await clock.sleep(6)
        return {"y": 1}

    workflow = define_workflow(
        "w",
        nodes=[
            node(work, provides=["x"], routes=[route.to("more")]),
            node(more, provides=["y"], routes=[route.deliver("x")]),
        ],
    )
    for allowed, fits in ((25, True), (18, False)):
        store = MemoryStore()
        budget = Budget(seconds=allowed)
        async with Engine(workflow, store=store, clock=clock, budget=budget) as engine:
            with pytest.raises(RunSuspended):
                await engine.run(run_id="r")
        clock.advance(10_000)
        # Dies right after work was recorded; what the process did until then counts.
        async with Engine(
            workflow, store=CrashingStore(store, 2, before=False), clock=clock, budget=budget
        ) as engine:
            async with engine.reopen("r", "yes") as run:
                await run.settled()
            assert run.status == "interrupted"
        clock.advance(10_000)
        run = await process(workflow, store, clock=clock, budget=budget)
        if fits:
            assert run.outcome() == "yes"
            # 4 until the question, 4 + 5 in the visit that was made again, 6 in the last.
            assert run.ledger.used("seconds") == 19
        else:
            error = run._error
            assert isinstance(error, BudgetExceeded)
            assert (error.limit, error.allowed) == ("seconds", 18)


async def test_seconds_that_are_spent_are_not_given_again() -> None:
    clock = FixedClock()

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("work", lambda: clock.advance(8))
        await clock.sleep(5)
        return {"x": 1}

    store, budget = MemoryStore(), Budget(seconds=10)
    await process(alone(body), CrashingStore(store, 2, before=False), clock=clock, budget=budget)
    run = await process(alone(body), store, clock=clock, budget=budget)
    error = run._error
    assert isinstance(error, BudgetExceeded)
    assert (error.limit, error.used) == ("seconds", 10)


async def test_waiting_for_another_driver_spends_no_seconds() -> None:
    store, reached, opened = MemoryStore(), anyio.Event(), anyio.Event()

    class Patient(FixedClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if self.monotonic() > 60:
                opened.set()

    async def body(state: Any) -> dict[str, Any]:
        reached.set()
        await opened.wait()
        return {"x": 1}

    workflow = alone(body)
    async with (
        Engine(workflow, store=store) as first,
        Engine(workflow, store=store, clock=Patient(), budget=Budget(seconds=3)) as second,
        first.start(run_id="r"),
    ):
        await reached.wait()
        assert await second.run(run_id="r") == {"x": 1}


async def test_a_cancel_by_id_keeps_what_was_spent() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.model.invoke("hello")
        return {"x": await ctx.suspend("go on?")}

    store = MemoryStore()
    async with Engine(alone(body), store=store, model=model()) as engine:
        async with engine.start(run_id="r") as run:
            await run.settled()
        assert await engine.cancel("r", "no more")
        async with engine.start(run_id="r") as again:
            await again.settled()
        assert again.status == "cancelled"
        assert again.ledger.used("model_calls") == 1
        assert again.ledger.as_dict() == run.ledger.as_dict()
