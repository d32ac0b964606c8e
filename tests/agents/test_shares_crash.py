"""The share of a sub-agent: what it may spend is spent once, however often the process of its run dies."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest

from agentflow import (
    Agent,
    Budget,
    BudgetExceeded,
    Engine,
    RunInterrupted,
    StoreError,
    Workflow,
    define_workflow,
    node,
    route,
    tool,
)
from agentflow.agents import Subagents
from agentflow.mock import MockModel, Rule, call
from agentflow.run.ports import Store
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore

SHARE = Budget(model_calls=3)
DONE: Counter[str] = Counter()


@tool
async def look(at: int = 0) -> int:
    """Look at something."""
    DONE["look"] += 1
    return at


def never_done(request: Any) -> Any:
    DONE["model"] += 1
    return call("look", at=request.turn)


HELPER = Agent("helper", None, MockModel([Rule(reply=never_done)]), [look])
SERVICE = Subagents([HELPER])


@node(provides=["told"], routes=[route.deliver("told")])
async def hand_out(_state: Any, ctx: Any) -> dict[str, Any]:
    """Give a task to the helper, and tell what it fails with."""
    try:
        async with SERVICE.open(ctx) as tasks:
            return {"told": (await tasks.start("helper", "look", budget=SHARE)).text}
    except BudgetExceeded as error:
        return {"told": f"{error.limit}: {error.used:g} of {error.allowed:g}"}


ASKS = HELPER.as_node(input="task", output="told", budget=SHARE, routes=[route.deliver("told")])
WORKFLOWS: dict[str, Workflow[Any]] = {
    "sub-task": define_workflow("sub-task", nodes=[hand_out], inputs=[]),
    "node": define_workflow("node", nodes=[ASKS], inputs=["task"]),
}
INPUTS: dict[str, dict[str, Any]] = {"sub-task": {}, "node": {"task": "look"}}


async def process(kind: str, store: Store) -> Any:
    """What one process comes to, if it does not die."""
    with contextlib.suppress(StoreError, RunInterrupted):
        async with Engine(WORKFLOWS[kind], store=store) as engine:
            try:
                return await engine.run(INPUTS[kind], run_id="r")
            except BudgetExceeded as error:
                return f"{error.limit}: {error.used:g} of {error.allowed:g}"
    return None


async def calm(kind: str) -> int:
    """How much is written when nobody dies, and that the share is a limit then."""
    DONE.clear()
    store = CrashingStore(MemoryStore(), 0, before=False)
    assert await process(kind, store) == "model_calls: 4 of 3"
    assert DONE["model"] == 3
    return store.writes


@pytest.mark.rule("R024", "R245")
@pytest.mark.parametrize("kind", WORKFLOWS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_share_goes_on_from_what_was_spent_of_it(kind: str, before: bool) -> None:
    writes = await calm(kind)
    assert writes > 10
    for at in range(1, writes + 1):
        DONE.clear()
        inner = MemoryStore()
        await process(kind, CrashingStore(inner, at, before=before))
        assert await process(kind, inner) == "model_calls: 4 of 3", f"write {at}"
        # What was under way when the process died is done once more.
        assert DONE["model"] <= 3 + before, f"write {at}"


async def test_a_share_is_not_filled_again_by_processes_that_each_die_at_once() -> None:
    writes = await calm("sub-task")
    DONE.clear()
    inner = MemoryStore()
    came = None
    for _ in range(2 * writes):
        came = came or await process("sub-task", CrashingStore(inner, 2, before=False))
    assert came == "model_calls: 4 of 3"
    assert DONE["model"] == 3


async def test_usage_of_a_sub_agent_that_goes_on_is_that_of_all_of_it() -> None:
    used: list[int] = []
    model = MockModel([Rule(reply=lambda request: call("look") if request.turn < 3 else "done")])
    helper = Agent("helper", None, model, [look])

    @node(provides=["calls"], routes=[route.deliver("calls")])
    async def asking(_state: Any, ctx: Any) -> dict[str, Any]:
        async with Subagents([helper]).open(ctx) as tasks:
            result = await tasks.start("helper", "look")
        used.append(result.total_usage.calls)
        return {"calls": result.total_usage.calls}

    workflow = define_workflow("asks", nodes=[asking], inputs=[])
    inner = MemoryStore()
    for at in (6, 0):
        with contextlib.suppress(StoreError, RunInterrupted):
            async with Engine(workflow, store=CrashingStore(inner, at, before=False)) as engine:
                await engine.run({}, run_id="r")
    assert used == [3]
