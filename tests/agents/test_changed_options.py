"""Calls that go on below a sub-agent under other options: they go on where they can, and say what is in the way where not."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Agent, IncompatibleRun, RunSuspended, tool
from agentflow.mock import MockModel, Rule, call
from agentflow.stores.memory import MemoryStore

PAID: list[int] = []


@tool(needs_approval=True)
async def pay(amount: int) -> int:
    """Pay so much."""
    PAID.append(amount)
    return amount


def paying(request: Any) -> Any:
    return call("pay", amount=request.turn) if request.turn < 3 else "paid"


def boss(store: MemoryStore, *, steps: int = 5, below: int = 5, **options: Any) -> Agent:
    """An agent whose helper pays twice, each time when somebody has agreed."""
    helper = Agent("helper", None, MockModel([Rule(reply=paying)]), [pay], max_steps=below)
    model = MockModel([Rule(turn=1, reply=call("ask_helper", task="pay")), Rule(reply="ok")])
    return Agent("boss", None, model, max_steps=steps, sub_agents=[helper], store=store, **options)


async def asked_once() -> MemoryStore:
    """A call that waits for the first agreement."""
    PAID.clear()
    store = MemoryStore()
    async with boss(store) as agent:
        with pytest.raises(RunSuspended, match="approve"):
            await agent.generate_text("go", run_id="r")
    return store


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": 6}, {}),
        ({"below": 6}, {}),
        ({"steps": 2, "below": 3}, {}),
        ({}, {"max_steps": 7}),
    ],
)
async def test_an_answer_below_a_sub_agent_is_taken_under_another_number_of_steps(
    options: dict[str, int], said: Any
) -> None:
    store = await asked_once()
    async with boss(store, **options) as agent:
        with pytest.raises(RunSuspended, match="approve"):
            await agent.resume("r", True, **said)
        assert PAID == [1]
        result = await agent.resume("r", True, **said)
    assert (result.text, PAID) == ("ok", [1, 2])
    assert result.steps[0].tool_results[0].content == "paid"


async def test_steps_that_were_taken_and_are_not_allowed_any_more_are_named_with_their_agent() -> (
    None
):
    store = await asked_once()
    async with boss(store) as agent:
        with pytest.raises(RunSuspended, match="approve"):
            await agent.resume("r", True)
    told = (
        r"visits node 'admit' where the definition of today visits 'conclude': workflow 'helper' has max_rounds=1, which is "
        r"max_steps of an agent, and the run has opened round 2 of it"
    )
    async with boss(store, below=1) as agent:
        with pytest.raises(IncompatibleRun, match=told):
            await agent.resume("r", True)
    assert PAID == [1]
    # Nothing is lost: under the steps that it had it goes on, with the answer that was given.
    async with boss(store) as agent:
        assert (await agent.generate_text("go", run_id="r")).text == "ok"
    assert PAID == [1, 2]
