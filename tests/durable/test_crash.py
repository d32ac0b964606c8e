"""A run that is killed at any write, before or after it, ends as if nothing had happened."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies

from agentflow import Engine, RunInterrupted
from agentflow.errors import StoreError
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore
from tests.durable.workflows import BUDGET, INPUT, World, everything

WORKFLOW = everything()


class Outcome(NamedTuple):
    result: Any
    state: Any
    used: dict[str, float]
    numbers: list[int]
    status: str


async def drive(store: Any, world: World) -> Outcome | None:
    """One process that drives the run until it ends or the process dies."""
    async with Engine(WORKFLOW, store=store, budget=BUDGET) as engine:
        async with engine.start(INPUT, run_id="r", deps=world) as run:
            try:
                result = await run.result()
            except (StoreError, RunInterrupted):
                return None
        used = run.ledger.as_dict()
        used.pop("seconds", None)
        entries = await engine.history("r")
        (info,) = await engine.runs()
        return Outcome(
            result, dict(run.state), used, [entry.number for entry in entries], info.status
        )


async def undisturbed() -> tuple[Outcome, World, int]:
    world, store = World(), CrashingStore(MemoryStore(), 0, before=True)
    outcome = await drive(store, world)
    assert outcome is not None
    return outcome, world, store.writes


async def check(deaths: list[tuple[int, bool]]) -> None:
    """Kill a process at each of `deaths`, one after the other, then let a last one finish."""
    expected, calm, _ = await undisturbed()
    inner, world = MemoryStore(), World()
    killed = 0
    for at, before in deaths:
        store = CrashingStore(inner, at, before=before)
        if await drive(store, world) is not None:
            break
        killed += 1
    outcome = await drive(CrashingStore(inner, 0, before=True), world)
    assert outcome is not None
    assert outcome.result == expected.result
    assert outcome.used == expected.used
    assert outcome.numbers == list(range(1, len(outcome.numbers) + 1))
    assert outcome.status == "completed"
    assert set(world.done) == set(calm.done)
    assert sum(world.done.values()) <= sum(calm.done.values()) + killed
    (info,) = await inner.find()
    assert info.status == "completed"


@pytest.mark.rule("R258", "R260")
@pytest.mark.case("P055")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_kill_at_any_write_changes_nothing(before: bool) -> None:
    _, _, writes = await undisturbed()
    assert writes > 20
    for at in range(1, writes + 1):
        await check([(at, before)])


async def test_an_effect_that_was_recorded_is_not_done_again() -> None:
    _, calm, writes = await undisturbed()
    inner, world = MemoryStore(), World()
    for _ in range(writes + 5):
        # Each process dies right after its first write: the record is there, nothing else is.
        if await drive(CrashingStore(inner, 2, before=False), world) is not None:
            break
    assert world.done == calm.done


@given(
    strategies.lists(
        strategies.tuples(strategies.integers(1, 12), strategies.booleans()), max_size=6
    )
)
async def test_any_number_of_kills_changes_nothing(deaths: list[tuple[int, bool]]) -> None:
    await check(deaths)


async def test_a_dead_process_leaves_a_run_that_another_finds_and_finishes() -> None:
    inner, world = MemoryStore(), World()
    assert await drive(CrashingStore(inner, 7, before=False), world) is None
    async with Engine(WORKFLOW, store=inner, budget=BUDGET) as engine:
        (info,) = await engine.runs("interrupted")
        assert info.run_id == "r"
        runs = await engine.recover()
        assert runs["r"].status == "failed"  # it was recovered without the world that it needs
