"""Structured output is of the type that was asked for, whoever has given it: the model, middleware, or a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import (
    Agent,
    ContractError,
    LoopResult,
    StructuredOutputNotGenerated,
    ToolContext,
    build_loop,
    tool,
)
from agentflow.agents import Middleware
from agentflow.mock import call
from tests.agents.kit import scripted


class City(BaseModel):
    """What is asked for."""

    name: str


class Place(TypedDict):
    """The same as a mapping."""

    name: str


ROME = {"name": "Rome"}
ENDS: Any = {"value": None}


@tool
async def finish(ctx: ToolContext) -> str:
    """Give the answer."""
    ctx.bail(ENDS["value"])


def agent(*replies: Any, tools: Any = (), **middleware: Any) -> Agent:
    around = [Middleware(name="editor", **middleware)] if middleware else []
    return Agent("clerk", None, scripted(*replies), tools, middlewares=around)


def ending(value: Any, **middleware: Any) -> Agent:
    ENDS["value"] = value
    return agent(call("finish"), tools=[finish], **middleware)


def giving(value: Any) -> Callable[..., Any]:
    return lambda _given, _ctx: value


# --- middleware ----------------------------------------------------------------------------------


@pytest.mark.rule("R006")
@pytest.mark.parametrize("wrong", ["Rome", {"people": 3}, None, 3])
async def test_output_middleware_gives_a_value_of_the_type(wrong: Any) -> None:
    told = r"output middleware gave another value for the structured output: .* is no City: "
    with pytest.raises(ContractError, match=told):
        await agent(ROME, output=giving(wrong)).generate_object("go", City)


@pytest.mark.rule("R006")
async def test_what_can_be_read_as_the_type_becomes_it() -> None:
    result = await agent(ROME, output=giving({"name": "Ostia"})).generate_object("go", City)
    assert result.object == City(name="Ostia")
    assert result.text == result.messages[-1].text == '{"name":"Ostia"}'


async def test_a_stream_says_so_too() -> None:
    async with agent(ROME, output=giving("Rome")).stream_text("go", output=City) as stream:
        with pytest.raises(ContractError, match="output middleware gave another value"):
            await stream.object


async def test_nothing_that_is_valid_may_be_valid_and_nothing() -> None:
    optional: Any = City | None
    result = await agent(None, output=lambda value, _: value).generate_object("go", optional)
    assert (result.object, result.text) == (None, "null")


@pytest.mark.rule("R006")
async def test_a_text_in_place_of_a_turn_is_read_as_a_models_answer_is() -> None:
    result = await agent("unasked", turn=giving('{"name": "Rome"}')).generate_object("go", City)
    assert (result.object, result.finish_reason) == (City(name="Rome"), "skipped")
    told = "middleware 'editor' gave a text for a turn that is to give structured output: "
    with pytest.raises(ContractError, match=told):
        await agent("unasked", turn=giving("Rome")).generate_object("go", City)


@pytest.mark.rule("R006")
async def test_the_result_of_a_turn_is_of_the_type_also_when_it_is_made_anew() -> None:
    def having(value: Any) -> Callable[[Any, Any], Awaitable[LoopResult]]:
        async def turn(pending: Any, _ctx: Any) -> LoopResult:
            taken: LoopResult = await pending.proceed()
            return replace(taken, object=value)

        return turn

    result = await agent(ROME, turn=having({"name": "Ostia"})).generate_object("go", City)
    assert result.object == City(name="Ostia")
    with pytest.raises(ContractError, match="middleware 'editor' gave another value"):
        await agent(ROME, turn=having("Rome")).generate_object("go", City)


# --- tools ---------------------------------------------------------------------------------------


@pytest.mark.rule("R006")
@pytest.mark.parametrize("middleware", [{}, {"output": lambda value, _: value}])
async def test_a_tool_that_ends_the_loop_gives_a_value_of_the_type(middleware: Any) -> None:
    told = (
        r"after 1 step a tool ended the loop with something else: 'Rome' is no City: .*; have the"
    )
    with pytest.raises(StructuredOutputNotGenerated, match=told):
        await ending("Rome", **middleware).generate_object("go", City)
    result = await ending(ROME, **middleware).generate_object("go", City)
    assert (result.object, result.finish_reason) == (City(name="Rome"), "bail")
    assert result.text == '{"name":"Rome"}'


async def test_middleware_may_make_the_type_of_what_a_tool_has_ended_the_loop_with() -> None:
    asked = ending("Rome", output=lambda value, _: City(name=value))
    assert (await asked.generate_object("go", City)).object == City(name="Rome")


async def test_a_loop_alone_says_so_too() -> None:
    ENDS["value"] = "Rome"
    with pytest.raises(StructuredOutputNotGenerated, match="'Rome' is no Place"):
        await build_loop(output=Place).run(
            {"messages": "go"}, model=scripted(call("finish")), tools=[finish]
        )


async def test_a_tool_ends_a_loop_with_anything_where_no_type_was_asked_for() -> None:
    result = await ending([3]).generate_text("go")
    assert (result.object, result.text) == ([3], "[3]")
