"""Limits of time: seconds of a run, on the clock of the engine."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    Engine,
    RunCancelled,
    node,
    route,
    subflow,
)
from tests.run.clock import HandClock
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked


async def wait(state: Any) -> None:
    await anyio.sleep_forever()


@pytest.mark.case("P115")
@pytest.mark.parametrize("levels", [0, 2])
async def test_a_run_out_of_seconds_is_interrupted_with_a_last_fact(levels: int) -> None:
    workflow, clock, seen = alone(wait), HandClock(), Recorder()
    for level in range(levels):
        workflow = unchecked(
            f"level-{level}",
            nodes=[
                subflow("sub", workflow, routes=[END], on_error="rescue"),
                node(nothing, id="rescue", routes=[END]),
            ],
        )
    engine = Engine(workflow, clock=clock, observers=[seen])
    async with engine.start(budget=Budget(seconds=5)) as run:
        await wait_all_tasks_blocked()
        assert clock.sleeping == [5]
        clock.move(4)
        await wait_all_tasks_blocked()
        assert engine.get(run.id) is run
        clock.move(1.5)
        with pytest.raises(BudgetExceeded) as caught:
            await run.result()
        assert run.status == "failed"
        kinds = [fact.kind async for fact in run.facts()]
    error = caught.value
    assert (error.limit, error.allowed, error.used) == ("seconds", 5, 5.5)
    assert kinds[-2:] == ["limit.reached", "run.failed"]
    assert "rescue" not in seen.visited()
    assert run.ledger.used("seconds") == 5.5


async def test_a_loop_that_never_waits_runs_out_of_seconds_too() -> None:
    clock = HandClock()

    async def turn(state: Any) -> None:
        clock.time += 0.001

    again = route.to("a", lambda state: True)
    workflow = unchecked(
        "w",
        nodes=[node(turn, id="a", starts_round=True, routes=[again, END])],
        max_rounds=10**9,
    )
    seen = Recorder(kinds={"limit.reached", "run.failed"})
    with pytest.raises(BudgetExceeded) as caught:
        await Engine(workflow, clock=clock, observers=[seen]).run(budget=Budget(seconds=2))
    assert caught.value.limit == "seconds"
    assert seen.kinds == ["limit.reached", "run.failed"]


async def test_a_run_in_time_leaves_no_alarm_behind() -> None:
    clock = HandClock()
    await Engine(alone(nothing), clock=clock).run(budget=Budget(seconds=5))
    await wait_all_tasks_blocked()
    assert clock.sleeping == []


async def test_seconds_are_spent_on_the_clock_of_the_engine() -> None:
    clock = HandClock()

    async def work(state: Any) -> None:
        clock.move(3)

    async with Engine(alone(work), clock=clock).start() as run:
        await run.result()
    assert run.ledger.used("seconds") == 3


async def test_a_cancel_that_came_first_stays_a_cancel() -> None:
    clock = HandClock()
    async with Engine(alone(wait), clock=clock).start(budget=Budget(seconds=5)) as run:
        await wait_all_tasks_blocked()
        run.cancel("enough")
        clock.move(9)
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
        assert run.status == "cancelled"


async def test_a_limit_that_came_first_stays_a_limit() -> None:
    clock, signal = HandClock(), CancelSignal()

    async def wait_and_cancel(state: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            signal.cancel("too late")

    async with Engine(alone(wait_and_cancel), clock=clock).start(
        budget=Budget(seconds=5), signal=signal
    ) as run:
        await wait_all_tasks_blocked()
        clock.move(5)
        with pytest.raises(BudgetExceeded, match="seconds"):
            await run.result()
        assert run.status == "failed"


async def test_a_body_that_fails_when_its_seconds_are_over_is_out_of_seconds() -> None:
    clock, seen = HandClock(), Recorder()

    async def fail(state: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise OSError("while cleaning up")

    workflow = unchecked(
        "w",
        nodes=[
            node(fail, id="a", on_error="b", routes=[END]),
            node(nothing, id="b", routes=[END]),
        ],
    )
    async with Engine(workflow, clock=clock, observers=[seen]).start(
        budget=Budget(seconds=5)
    ) as run:
        await wait_all_tasks_blocked()
        clock.move(5)
        with pytest.raises(BudgetExceeded, match="seconds"):
            await run.result()
    assert seen.visited() == ["a"]
