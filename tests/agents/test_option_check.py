"""Options of agents and of their calls: one of the wrong kind is refused where it is given, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Agent
from agentflow.agents import Guardrail, Middleware, step_count
from tests.agents.kit import look, scripted

PASS = Middleware(output=lambda text, ctx: text)
PASSED = Guardrail(output=lambda text, view: True)

WRONG: list[tuple[str, Any, str]] = [
    ("instructions", 3, "give a text, or a function"),
    ("retriever", 3, "give a function of the query"),
    ("prompts", {"a": "b"}, "give Prompts"),
    ("headers", 3, "give a mapping"),
    ("models", ["mock:echo"], "give a mapping of models by name"),
    ("parameters", [1], "give a mapping"),
    ("context", [1], "give a mapping"),
    ("tools", look, "give a list of tools and toolkits"),
    ("tools", "look", "give a list of tools and toolkits"),
    ("middlewares", PASS, "give a list of middlewares"),
    ("guardrails", PASSED, "give a list of guardrails"),
    ("observers", 3, "give a list of observers"),
    ("sub_agents", Agent("other", None, "mock:echo"), "give a list of agents"),
    ("prepare_step", 3, "give a function of a StepContext"),
    ("permission", True, "give a function of the call"),
    ("authorize", True, "give a function"),
    ("repeat_limit", 3, "give a RepeatLimit"),
    ("tool_choice", 3, "give 'required', or the id of a tool"),
    ("max_output_tokens", 0, "give a whole number of at least 1"),
    ("max_middleware_retries", -1, "give a whole number of at least 0"),
    ("max_middleware_retries", "2", "give a whole number of at least 0"),
    ("max_delegations", -1, "give a whole number of at least 0"),
]


@pytest.mark.parametrize(("option", "value", "told"), WRONG)
async def test_an_option_of_the_wrong_kind_is_refused_by_its_name_for_an_agent_and_for_a_call(
    option: str, value: Any, told: str
) -> None:
    wrong: Any = {option: value}
    with pytest.raises(TypeError, match=f"^{option}=.*: {told}"):
        Agent("helper", **{"model": scripted("ok"), **wrong})
    agent = Agent("helper", None, scripted("ok"))
    with pytest.raises(TypeError, match=f"^{option}=.*: {told}"):
        await agent.generate_text("go", **wrong)


def test_what_is_no_agent_is_no_sub_agent() -> None:
    others: Any = [3]
    with pytest.raises(TypeError, match="sub_agents: 3 is no agent"):
        Agent("helper", None, scripted("ok"), sub_agents=others)


@pytest.mark.parametrize("name", [None, 3, ""])
def test_the_name_of_an_agent_is_a_text(name: Any) -> None:
    with pytest.raises(TypeError, match=f"name={name!r}: give a text, not empty"):
        Agent(name, None, scripted("ok"))


async def test_no_input_is_refused_as_one_that_is_none() -> None:
    with pytest.raises(TypeError, match="NoneType is no input for a model: give a text"):
        await Agent("helper", None, scripted("ok")).generate_text(None)


async def test_an_agent_without_a_store_has_nothing_to_resume() -> None:
    with pytest.raises(RuntimeError, match="the engine has no store"):
        await Agent("helper", None, scripted("ok")).resume("r", True)


@pytest.mark.parametrize("inner", ["call_steps", "streams"])
async def test_what_agents_tell_themselves_is_no_option(inner: str) -> None:
    options: Any = {inner: 1}
    with pytest.raises(TypeError, match=f"an agent has no option '{inner}'"):
        await Agent("helper", None, scripted("ok")).generate_text("go", **options)


async def test_an_object_needs_a_schema() -> None:
    schema: Any = None
    with pytest.raises(TypeError, match="schema=None: give the type of the answer"):
        await Agent("helper", None, scripted("ok")).generate_object("go", schema)


def test_two_sub_agents_of_one_name_are_refused_with_both_of_them() -> None:
    others = [Agent("other", None, scripted("ok")) for _ in range(2)]
    told = (
        "two tools have the id 'ask_other': one from <Agent 'other'> and one from <Agent 'other'>"
    )
    with pytest.raises(ValueError, match=told):
        Agent("helper", None, scripted("ok"), sub_agents=others)


def test_the_budget_of_a_task_is_a_budget() -> None:
    wrong: Any = 3
    asked = Agent("helper", None, scripted("ok"))
    with pytest.raises(TypeError, match="budget=3: it is a Budget"):
        asked.as_tool(budget=wrong)
    with pytest.raises(TypeError, match="budget=3: it is a Budget"):
        asked.as_node(budget=wrong)


@pytest.mark.parametrize("number", [0, -1, "3", 1.5])
def test_a_count_of_steps_is_a_whole_number_of_at_least_one(number: Any) -> None:
    with pytest.raises(ValueError, match=r"step_count=.*: it is a whole number of at least 1"):
        step_count(number)
