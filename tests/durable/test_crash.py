"""A run that is killed at any write, before or after it, ends as if nothing had happened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies

from agentflow import Engine, Workflow, define_workflow, node, route
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.durable.trial import Trial
from tests.durable.workflows import BUDGET, INPUT, World, everything

WORKFLOW = everything()


TRIAL = Trial(WORKFLOW, INPUT, BUDGET)


async def undisturbed() -> tuple[World, int]:
    world = World()
    _, writes = await TRIAL.undisturbed(world)
    return world, writes


async def check(deaths: list[tuple[int, bool]]) -> None:
    await TRIAL.check(deaths, World(), World())


@pytest.mark.rule("R258", "R260")
@pytest.mark.case("P055")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_kill_at_any_write_changes_nothing(before: bool) -> None:
    _, writes = await undisturbed()
    assert writes > 20
    for at in range(1, writes + 1):
        await check([(at, before)])


async def test_an_effect_that_was_recorded_is_not_done_again() -> None:
    calm, writes = await undisturbed()
    inner, world = MemoryStore(), World()
    for _ in range(writes + 5):
        # Each process dies right after its first write: the record is there, nothing else is.
        if await TRIAL.drive(CrashingStore(inner, 2, before=False), world) is not None:
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
    assert await TRIAL.drive(CrashingStore(inner, 7, before=False), world) is None
    async with Engine(WORKFLOW, store=inner, budget=BUDGET) as engine:
        (info,) = await engine.runs("interrupted")
        assert info.run_id == "r"
        runs = await engine.recover()
        assert runs["r"].status == "failed"  # it was recovered without the world that it needs


async def test_a_field_that_was_set_to_nothing_is_there_after_a_death() -> None:
    async def clear(state: Any) -> dict[str, Any]:
        return {"note": None}

    async def read(state: Any) -> dict[str, Any]:
        return {"answer": f"{state['note']}"}

    workflow: Workflow[str] = define_workflow(
        "clears",
        nodes=[
            node(clear, provides=["note"], routes=[route.to("read")]),
            node(read, requires=["note"], provides=["answer"], routes=[route.deliver("answer")]),
        ],
        inputs=[],
    )
    inner = MemoryStore()
    assert (await process(workflow, CrashingStore(inner, 2, before=False))).status != "completed"
    assert (await process(workflow, inner)).outcome() == "None"
