"""Calls and streams that are over are freed at once when nobody holds them: the collector has nothing to find."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

import pytest

from agentflow import Agent, BudgetExceeded, ModelError, ToolFailed, tool
from agentflow.agents import (
    AgentStream,
    Guardrail,
    GuardrailBlocked,
    Middleware,
    MiddlewareAborted,
)
from agentflow.mock import MockModel, Refused, Rule, call
from tests.agents.kit import endless, look, scripted
from tests.run.freed import made_runs


@tool
async def break_off() -> str:
    """Fail."""
    raise ValueError("no")


def abort(text: str, ctx: Any) -> str:
    ctx.abort("no")
    return text


def echo(**options: Any) -> Agent:
    return Agent("clerk", None, MockModel([Rule(reply="Hello.")]), **options)


REFUSED = Agent("refused", None, MockModel([Rule(reply=Refused(400))]))
ONCE = {"max_steps": 1}
CALLS: dict[str, Agent] = {
    "well": echo(),
    "by the model's error": REFUSED,
    "by its steps": Agent("steps", None, endless(), [look], on_max_steps="raise", max_steps=2),
    "by a guardrail": echo(guardrails=[Guardrail(output=lambda text, view: False)]),
    "by a guardrail of the input": echo(guardrails=[Guardrail(input=lambda text, view: False)]),
    "by middleware": echo(middlewares=[Middleware(output=abort)]),
}
EXPECTED = (ModelError, BudgetExceeded, GuardrailBlocked, MiddlewareAborted, ToolFailed)


@pytest.mark.parametrize("how", CALLS)
async def test_a_call_that_has_ended_is_freed_at_once(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = CALLS[how]
    with made_runs(monkeypatch) as made:
        with suppress(*EXPECTED):
            await agent.generate_text("go")
        assert (made.count, await made.left()) == (1, 0)


async def test_a_call_in_which_a_tool_and_a_sub_agent_failed_is_freed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = scripted(call("break_off"), call("ask_refused", task="go"), "ok")
    agent = Agent("boss", None, model, [break_off], sub_agents=[REFUSED])
    with made_runs(monkeypatch) as made:
        result = await agent.generate_text("go")
        assert [step.tool_results[0].is_error for step in result.steps[:2]] == [True, True]
        assert (made.count, await made.left()) == (1, 0)


async def test_a_call_of_an_engine_of_its_own_is_freed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = echo()
    with made_runs(monkeypatch) as made:
        with suppress(ModelError):
            await agent.generate_text("go", model=MockModel([Rule(reply=Refused(400))]))
        assert (made.count, await made.left()) == (1, 0)


async def test_a_call_that_says_what_it_says_to_a_sink_of_the_callers_is_freed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[Any] = []

    class Said:
        async def send(self, chunk: Any) -> None:
            said.append(chunk)

    agent = echo(middlewares=[Middleware(chunk=lambda chunk, ctx: chunk)])
    with made_runs(monkeypatch) as made:
        await agent.generate_text("go", sink=Said())
        assert (made.count, await made.left()) == (1, 0)
    assert said


async def read_text(agent: Agent) -> weakref.ref[AgentStream]:
    async with agent.stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "Hello."
        return weakref.ref(stream)


async def read_events(agent: Agent) -> weakref.ref[AgentStream]:
    async with agent.stream_text("go") as stream:
        assert [event async for event in stream.events]
        return weakref.ref(stream)


async def await_result(agent: Agent) -> weakref.ref[AgentStream]:
    async with agent.stream_text("go") as stream:
        assert (await stream.result()).text == "Hello."
        return weakref.ref(stream)


async def leave(agent: Agent) -> weakref.ref[AgentStream]:
    async with agent.stream_text("go") as stream:
        return weakref.ref(stream)


@pytest.mark.parametrize("read", [read_text, read_events, await_result, leave])
async def test_a_stream_that_has_ended_or_was_left_is_freed_at_once(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = echo(middlewares=[Middleware(chunk=lambda chunk, ctx: chunk)])
    with made_runs(monkeypatch) as made:
        stream = await read(agent)
        assert (made.count, await made.left(), stream()) == (1, 0, None)


async def test_a_stream_tells_its_error_as_often_as_it_is_asked() -> None:
    async with REFUSED.stream_text("go") as stream:
        for _ in range(2):
            with pytest.raises(ModelError, match="400"):
                await stream.result()
