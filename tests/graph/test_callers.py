"""Nodes that make one call, of a model or of a tool."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import (
    Engine,
    Retry,
    UnknownTool,
    define_workflow,
    model_node,
    route,
    structured,
    tool,
    tool_node,
)
from agentflow.mock import MockModel, Rule


class Verdict(BaseModel):
    sound: bool


class State(TypedDict):
    claim: str
    verdict: NotRequired[Verdict]
    answer: NotRequired[str]
    weather: NotRequired[str]


@tool(retries=2)
def look_outside(city: str, unit: str = "C") -> str:
    """Tell the weather."""
    return f"{city}: 21 {unit}"


async def test_a_model_node_asks_with_a_field_and_fills_another() -> None:
    ask = model_node("ask", input="claim", output="answer", routes=[route.deliver("answer")])
    assert (ask.requires, ask.provides) == (("claim",), ("answer",))
    workflow = define_workflow("w", nodes=[ask], state=State, inputs=["claim"], result=str)
    model = MockModel([Rule(when="the sky", reply="It is blue.")])
    assert await workflow.run({"claim": "the sky?"}, model=model) == "It is blue."
    assert workflow.bounds().model_calls.value == 1


async def test_a_model_node_reads_its_answer_by_a_transport_and_makes_its_input_by_a_function() -> (
    None
):
    judge = model_node(
        "judge",
        input=lambda state: f"Judge: {state['claim']}",
        requires=["claim"],
        output="verdict",
        transport=structured(Verdict),
        instructions="Be strict.",
        routes=[route.deliver("verdict")],
    )
    workflow = define_workflow("w", nodes=[judge], state=State, inputs=["claim"], result=Verdict)
    model = MockModel([Rule(when="Judge: x", reply={"sound": True})])
    assert await workflow.run({"claim": "x"}, model=model) == Verdict(sound=True)


async def test_a_tool_node_maps_fields_to_parameters() -> None:
    look = tool_node(
        "look",
        tool=look_outside,
        inputs={"city": "claim"},
        output="weather",
        routes=[route.deliver("weather")],
    )
    assert (look.requires, look.provides) == (("claim",), ("weather",))
    workflow = define_workflow("w", nodes=[look], state=State, inputs=["claim"], result=str)
    assert await workflow.run({"claim": "Oslo"}, tools=[look_outside]) == "Oslo: 21 C"


def test_the_bounds_of_a_call_count_every_try() -> None:
    look = tool_node(
        "look",
        tool=look_outside,
        inputs={"city": "claim"},
        retry=Retry(2),
        routes=[route.deliver("claim")],
    )
    ask = model_node(
        "ask", input="claim", output="answer", retry=Retry(3), routes=[route.to("look")]
    )
    workflow = define_workflow("w", nodes=[ask, look], state=State, inputs=["claim"])
    assert workflow.bounds().model_calls.value == 3
    assert workflow.bounds().tool_calls.value == 6


async def test_a_tool_that_the_engine_does_not_have_is_named() -> None:
    look = tool_node("look", tool="look_inside", routes=[route.deliver("claim")])
    workflow = define_workflow("w", nodes=[look], state=State, inputs=["claim"])
    with pytest.raises(UnknownTool, match="look_inside"):
        await Engine(workflow, tools=[look_outside]).run({"claim": "x"})


async def test_the_value_of_a_tool_may_be_dropped() -> None:
    done: list[Any] = []

    @tool
    def note(text: str) -> None:
        """Write it down."""
        done.append(text)

    keep = tool_node("keep", tool=note, inputs={"text": "claim"}, routes=[route.deliver("claim")])
    workflow = define_workflow("w", nodes=[keep], state=State, inputs=["claim"])
    assert await workflow.run({"claim": "x"}, tools=[note]) == "x"
    assert done == ["x"]
