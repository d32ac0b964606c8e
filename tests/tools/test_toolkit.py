"""A toolkit can choose its tools for each visit, by what the run is and how far it is."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    ContractError,
    Engine,
    NodeContext,
    Tool,
    Toolkit,
    UnknownTool,
    build_loop,
    tool,
)
from agentflow.messages import ToolCall
from agentflow.mock import MockModel, Rule, call
from agentflow.testing import fake_context
from agentflow.tools import run_calls


@tool
async def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@tool
async def refund(amount: int) -> str:
    """Give money back."""
    return f"paid {amount}"


def by_role(ctx: NodeContext) -> list[Tool]:
    return [refund] if "clerk" in (ctx.identity or ()) else []


DESK = Toolkit(by_role, "Ask before you pay.", name="desk")


async def test_who_it_is_for_decides_what_is_there() -> None:
    clerk = fake_context(tools=[look, DESK], identity=["clerk"])
    guest = fake_context(tools=[look, DESK], identity=["guest"])
    assert [spec.name for spec in clerk.tools.specs()] == ["look", "refund"]
    assert [spec.name for spec in guest.tools.specs()] == ["look"]
    assert (await clerk.tools.invoke("refund", {"amount": 3})).value == "paid 3"
    with pytest.raises(UnknownTool, match="there is no tool 'refund'; the tools are: 'look'"):
        await guest.tools.invoke("refund", {"amount": 3})


@pytest.mark.case("P077")
async def test_a_model_is_told_of_the_tools_that_are_there_for_it() -> None:
    guest = fake_context(tools=[look, DESK])
    (result,) = await run_calls(guest, [ToolCall("c1", "refund", {"amount": 3})])
    assert result.tool_results[0].content.endswith("the tools are: 'look'")


async def test_instructions_are_said_only_where_there_are_tools() -> None:
    assert fake_context(tools=[DESK], identity=["clerk"]).tools.instructions == (
        "Ask before you pay.",
    )
    assert fake_context(tools=[DESK]).tools.instructions == ()


async def test_each_step_of_a_loop_sees_its_own_tools() -> None:
    seen: list[int] = []

    def early(ctx: NodeContext) -> list[Tool]:
        seen.append(ctx.round)
        return [look] if ctx.round == 1 else []

    model = MockModel([Rule(reply=[call("look", at="a"), call("look", at="b"), "Done."])])
    loop = build_loop()
    result = await Engine(loop, model=model, tools=[refund, Toolkit(early)]).run(
        {"messages": "Go."}
    )
    offered = [list(request.tools) for request in model.requests]
    assert offered == [["refund", "look"], ["refund"], ["refund"]]
    told = [part.content for message in result.messages for part in message.tool_results]
    assert told == ["saw a", "Error: there is no tool 'look'; the tools are: 'refund'"]
    assert sorted(set(seen)) == [1, 2, 3]


async def test_a_visit_is_asked_for_once() -> None:
    asked: list[str] = []

    def choose(ctx: NodeContext) -> list[Tool]:
        asked.append(ctx.node_id)
        return [look]

    ctx = fake_context(tools=[Toolkit(choose)])
    for _ in range(2):
        await ctx.tools.invoke("look", {"at": "a"})
    assert ctx.tools.specs()
    assert asked == ["node"]


async def test_two_tools_of_one_id_are_refused_with_both_sources_when_they_meet() -> None:
    other = tool(refund, id="look")
    ctx = fake_context(tools=[look, Toolkit(lambda _: [other], name="desk")])
    with pytest.raises(ContractError) as caught:
        ctx.tools.specs()
    text = str(caught.value)
    assert text.startswith("the tools of node 'node': two tools have the id 'look': one from ")
    assert text.count("test_toolkit.py:") == 2
    assert "in toolkit 'desk'" in text


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (None, "toolkit 'desk' chose None for node 'node'; give a list of tools"),
        ([by_role], r"by_role at .*> in toolkit 'desk' is no tool"),
    ],
)
async def test_what_is_no_list_of_tools_is_refused(chosen: Any, message: str) -> None:
    ctx = fake_context(tools=[Toolkit(lambda _: chosen, name="desk")])
    with pytest.raises(ContractError, match=message):
        ctx.tools.specs()


async def test_an_error_of_the_function_comes_through_as_it_is() -> None:
    def choose(ctx: NodeContext) -> list[Tool]:
        raise ValueError("no desk today")

    with pytest.raises(ValueError, match="no desk today"):
        fake_context(tools=[Toolkit(choose)]).tools.specs()


async def later(ctx: NodeContext) -> list[Tool]:
    return []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (look, "is no list of tools; write"),
        (3, "3 is no list of tools; write"),
        (later, "tools are chosen by a plain function"),
        (lambda: [look], "tools are chosen by a plain function"),
    ],
)
def test_a_toolkit_is_made_of_tools_or_of_a_function_that_chooses_them(
    wrong: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Toolkit(wrong)
