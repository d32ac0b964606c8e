"""The bounds of agents count middleware that is registered from outside, which may ask the model again."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Agent, BudgetExceeded, TextResult, define_workflow, route
from agentflow.agents import Middleware, PendingRequest, registered
from agentflow.messages import Message
from agentflow.mock import MockModel, Rule, call
from tests.agents.kit import endless, look, scripted


async def send_twice(request: PendingRequest, _ctx: Any) -> Message:
    """Ask the model again, whatever it says."""
    await request.send()
    return await request.send()


TWICE = Middleware(request=send_twice)


def worker(name: str = "worker", **options: Any) -> Agent:
    """An agent that takes the two steps that it has, and leaves room for further tries."""
    settings: dict[str, Any] = {"max_steps": 2, "max_middleware_retries": 1}
    return Agent(name, None, endless(), [look], **settings | options)


def boss(*others: Agent, name: str = "boss") -> Agent:
    """An agent that hands one task to the first of the others, in the first of its two steps."""
    first = others[0].id
    model = MockModel(
        [Rule(when="go", turn=1, reply=call(f"ask_{first}", task="look")), Rule(reply="ok")]
    )
    settings: dict[str, Any] = {"max_steps": 2, "max_delegations": 1, "max_middleware_retries": 1}
    return Agent(name, None, model, sub_agents=others, **settings)


def most(agent: Agent) -> float | None:
    return agent.workflow.bounds().model_calls.value


def proved(result: TextResult) -> float:
    value = result.bounds.model_calls.value
    assert value is not None
    return value


async def test_the_bounds_are_those_of_what_is_registered_where_they_are_asked_for() -> None:
    asked, other = worker(), worker("other")
    assert (most(asked), most(other)) == (2, 2)
    with registered(TWICE, agent=asked):
        assert (most(asked), most(other)) == (4, 2)
        result = await asked.generate_text("go")
    assert (proved(result), result.total_usage.calls) == (4, 4)
    assert most(asked) == 2
    assert proved(await asked.generate_text("go")) == 2


async def test_attempts_that_registered_middleware_may_ask_for_are_counted() -> None:
    def twice(text: str, ctx: Any) -> str:
        if not ctx.retry_count:
            ctx.abort("once more", retry=True)
        return text

    asked = worker()
    with registered(Middleware(output=twice)):
        assert most(asked) == 4
        result = await asked.generate_text("go")
    assert (proved(result), result.total_usage.calls) == (4, 4)


@pytest.mark.rule("R153")
@pytest.mark.parametrize("which", ["all", "the sub-agent"])
async def test_what_is_registered_for_a_sub_agent_is_in_the_bounds_of_whoever_asks_it(
    which: str,
) -> None:
    below = worker()
    asked = boss(below)
    assert most(asked) == 2 + 2 * 2
    with registered(TWICE, agent=None if which == "all" else below):
        expected = 4 + 2 * 4 if which == "all" else 2 + 2 * 4
        assert most(asked) == expected
        result = await asked.generate_text("go")
        spent = (2 * 2 if which == "all" else 2) + 4
    assert result.text == "ok"
    assert (proved(result), result.total_usage.calls) == (expected, spent)
    # And nothing of it is left.
    result = await asked.generate_text("go")
    assert (proved(result), result.total_usage.calls) == (6, 4)


async def test_it_is_counted_through_every_agent_in_between() -> None:
    deepest = worker("deepest")
    middle = boss(deepest, name="middle")
    top = Agent(
        "top",
        None,
        scripted(call("ask_middle", task="go"), "ok", call("ask_middle", task="go"), "ok"),
        sub_agents=[middle],
        max_steps=2,
        max_delegations=1,
    )
    with registered(TWICE, agent=deepest):
        assert most(top) == 2 + 2 * (2 + 2 * 4)
        result = await top.generate_text("go")
    assert (proved(result), result.total_usage.calls) == (22, 2 + 2 + 4)
    result = await top.generate_text("go")
    assert (proved(result), result.total_usage.calls) == (14, 2 + 2 + 2)


async def test_what_is_registered_after_a_bound_was_told_is_held_to_it() -> None:
    asks = worker().as_node(input="task", output="told", routes=[route.deliver("told")])
    workflow = define_workflow("asks", nodes=[asks], inputs=["task"])
    assert workflow.bounds().model_calls.value == 2
    with registered(TWICE), pytest.raises(BudgetExceeded, match="one visit of node 'worker' is 2"):
        await workflow.run({"task": "look"})
