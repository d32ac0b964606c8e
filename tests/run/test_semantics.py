"""Random workflows do what a second, independent interpreter says; and a cancel anywhere leaves a prefix of that."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from hypothesis import given, settings, strategies as st

from agentflow import Budget, BudgetExceeded, ContractError, Engine, RunCancelled
from tests.run.described import NUMBER, Trouble, descriptions, workflow_of
from tests.run.reference import Description, Outcome, Place, interpret
from tests.run.watching import Recorder

WHOLE: st.SearchStrategy[dict[str, int]] = st.fixed_dictionaries(dict.fromkeys("abc", NUMBER))
GIVEN = WHOLE | WHOLE | WHOLE | st.fixed_dictionaries({}, optional=dict.fromkeys("ab", NUMBER))
LIMITS: st.SearchStrategy[dict[str, int]] = st.sampled_from(
    [
        *[{"visits": 30}] * 4,
        *[{"visits": number} for number in (0, 1, 2, 3, 5, 8)],
        *[{"visits": 30, "rounds": number} for number in (0, 1, 2, 3, 5, 8)],
        *[{"visits": 30, "tool_calls": number} for number in (0, 1, 2, 3, 5, 8)],
        *[{"visits": 30, "depth": number} for number in (1, 2)],
    ]
)

FEWER = settings(max_examples=max(25, settings().max_examples // 4))
"""For what has the same expectations in several settings."""


async def outcome_of(run: Any) -> tuple[str, Any]:
    """How a run ended, in the words of the reference."""
    try:
        return "result", await run.result()
    except BudgetExceeded as error:
        return "budget", error.limit
    except ContractError:
        return "contract", None
    except RunCancelled:
        return "cancelled", None
    except Trouble as error:
        return "failed", str(error)


@pytest.mark.rule("R248", "R249", "R255", "R263", "R264", "R276", "R324", "R325", "R356")
@pytest.mark.parametrize("store", [None, "memory:"])
@given(described=descriptions(), given=GIVEN, limits=LIMITS, watched=st.booleans())
async def test_random_workflows_do_what_the_semantics_say(
    store: str | None,
    described: Description,
    given: dict[str, int],
    limits: dict[str, int],
    watched: bool,
) -> None:
    expected = interpret(described, given, limits, "r")
    places: list[Place] = []
    seen = Recorder()
    observers = [seen] if watched else []
    async with Engine(workflow_of(described, places), observers=observers, store=store) as engine:
        run = engine.start(given, run_id="r", budget=Budget(**limits))
        run._read = watched
        async with run:
            assert await outcome_of(run) == (expected.kind, expected.detail)
            assert dict(run.state) == (expected.states or [given])[-1]
            ledger = {limit: run.ledger.used(limit) for limit in expected.used}
    assert places == expected.places
    assert ledger == expected.used
    if watched:
        told_in_order(seen, expected)


def told_in_order(seen: Recorder, expected: Outcome) -> None:
    """The facts tell the same visits, are numbered without a gap, and end with the end."""
    bodies = {(place[0], place[1]) for place in expected.places}
    started = [
        (fact.run_id, fact.node_id, fact.visit, fact.round, fact.attempt)
        for fact in seen.of("node.started")
        if (fact.run_id, fact.node_id) in bodies
    ]
    assert started == expected.places
    assert [fact.seq for fact in seen.facts] == list(range(1, len(seen.facts) + 1))
    end = {"result": "run.completed", "cancelled": "run.cancelled"}.get(expected.kind, "run.failed")
    assert seen.kinds[-1] == end
    told = [fact.data["limit"] for fact in seen.of("limit.reached") if not fact.data["handler"]]
    assert told == ([expected.detail] if expected.kind == "budget" else [])


def a_prefix(run: Any, ended: tuple[str, Any], places: list[Place], expected: Outcome) -> None:
    """What a run that may have been cut short has done is the beginning of what it would have done."""
    assert places == expected.places[: len(places)]
    if run.status != "cancelled":
        assert ended == (expected.kind, expected.detail)
        assert places == expected.places
    else:
        assert ended == ("cancelled", None)
        state = dict(run.state)
        assert state in expected.states or not state


@pytest.mark.rule("R321", "R322", "R326")
@FEWER
@given(
    described=descriptions(depth=1),
    given=GIVEN,
    limits=LIMITS,
    after=st.integers(0, 30),
)
async def test_a_cancel_after_any_fact_leaves_a_prefix(
    described: Description, given: dict[str, int], limits: dict[str, int], after: int
) -> None:
    expected = interpret(described, given, limits, "r")
    places: list[Place] = []
    engine = Engine(workflow_of(described, places))
    seen = Recorder()

    def stop(fact: Any) -> None:
        if fact.seq == after:
            engine.cancel("r", "seen enough")

    async with engine.start(
        given, run_id="r", budget=Budget(**limits), observers=[stop, seen]
    ) as run:
        ended = await outcome_of(run)
        a_prefix(run, ended, places, expected)
    assert seen.kinds[-1].startswith("run.")


@pytest.mark.rule("R321", "R322")
@FEWER
@given(described=descriptions(depth=1), given=GIVEN, limits=LIMITS, wait=st.integers(0, 12))
async def test_a_cancel_from_another_task_leaves_a_prefix(
    described: Description, given: dict[str, int], limits: dict[str, int], wait: int
) -> None:
    expected = interpret(described, given, limits, "r")
    places: list[Place] = []
    engine = Engine(workflow_of(described, places))
    async with engine.start(given, run_id="r", budget=Budget(**limits)) as run:
        for _ in range(wait):
            await anyio.lowlevel.checkpoint()
        run.cancel("enough")
        ended = await outcome_of(run)
        a_prefix(run, ended, places, expected)


@pytest.mark.rule("R321", "R322")
@FEWER
@given(described=descriptions(depth=1), given=GIVEN, limits=LIMITS, spin=st.integers(0, 3000))
async def test_a_cancel_from_a_foreign_thread_leaves_a_prefix(
    described: Description, given: dict[str, int], limits: dict[str, int], spin: int
) -> None:
    expected = interpret(described, given, limits, "r")
    places: list[Place] = []
    engine = Engine(workflow_of(described, places))
    begun = threading.Event()

    def cancel() -> None:
        begun.wait()
        for _ in range(spin):
            pass
        run.cancel("from a thread")

    run = engine.start(given, run_id="r", budget=Budget(**limits))
    thread = threading.Thread(target=cancel)
    thread.start()
    async with run:
        begun.set()
        ended = await outcome_of(run)
        a_prefix(run, ended, places, expected)
    thread.join()


@pytest.mark.rule("R321", "R322")
@FEWER
@given(described=descriptions(depth=1), given=GIVEN, limits=LIMITS, wait=st.integers(0, 12))
async def test_a_caller_that_is_cancelled_leaves_no_run_behind(
    described: Description, given: dict[str, int], limits: dict[str, int], wait: int
) -> None:
    places: list[Place] = []
    engine = Engine(workflow_of(described, places))
    runs: list[Any] = []

    async def call() -> None:
        async with engine.start(given, run_id="r", budget=Budget(**limits)) as run:
            runs.append(run)
            await outcome_of(run)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        for _ in range(wait):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert engine.get("r") is None
    assert all(run.status != "running" for run in runs)
    done = len(places)
    await anyio.lowlevel.checkpoint()
    assert len(places) == done
