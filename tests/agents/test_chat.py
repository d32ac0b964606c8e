"""Chats: the model is asked once, and what it calls is left to whoever asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from agentflow import Agent, OutputInvalid, RunCancelled, tool
from agentflow.agents import (
    AgentDenied,
    Guardrail,
    GuardrailBlocked,
    Hooks,
    Middleware,
    MiddlewareContext,
)
from agentflow.agents.memory import InMemoryHistory, Memory, Thread
from agentflow.messages import tool_result
from agentflow.mock import call, calls
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import assert_valid, roles, scripted
from tests.models.kit import Endless


class City(BaseModel):
    """A place."""

    city: str


made: list[int] = []


@tool
async def look(at: int) -> int:
    """Look at something."""
    made.append(at)
    return at


def helper(model: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, [look], **options)


@pytest.mark.rule("R111")
async def test_a_chat_is_one_model_call_and_no_tool_call_is_made() -> None:
    made.clear()
    model = scripted(calls(call("look", at=1), call("look", at=2)), "never")
    async with helper(model).chat("What is there?") as run:
        assert isinstance(run, Run)
        result = await run.result()
    assert (len(model.requests), made) == (1, [])
    assert run.ledger.usage.calls == 1
    assert [(one.name, one.arguments["at"]) for one in result.tool_calls] == [
        *(("look", 1), ("look", 2)),
    ]
    assert roles(result.messages) == ["user", "assistant"]
    assert result.finish_reason == "max_steps"
    (request,) = model.requests
    assert request.tools == ("look",)
    assert [message.text for message in request.messages] == ["Be brief.", "What is there?"]


@pytest.mark.rule("R111")
async def test_who_makes_the_calls_gives_the_results_with_the_next_chat() -> None:
    model = scripted(call("look", at=1), "A cat.")
    asked = helper(model)
    async with asked.chat("What is there?") as run:
        first = await run.result()
    results = [tool_result(one, "a cat") for one in first.tool_calls]
    async with asked.chat([*first.messages, *results]) as run:
        last = await run.result()
    assert (last.text, last.finish_reason) == ("A cat.", "stop")
    assert run.status == "completed"
    assert_valid(last.messages)
    assert_valid(model.requests[1].messages)


def test_its_workflow_is_the_loop_without_its_round_trip() -> None:
    asked = helper(scripted("ok"), max_steps=7, middlewares=[Middleware(output=lambda v, c: v)])
    engine, is_own = asked.engine_for(replace(asked.profile, chats=True))
    assert is_own
    work = engine.workflow
    assert work.report.findings == ()
    assert work.bounds().model_calls.value == 1
    assert [node.id for node in work.nodes] == ["receive", "work", "review"]
    inner: Any = work.nodes[1].kind
    assert [node.id for node in inner.branch.workflow.nodes] == [
        *("admit", "assemble", "model", "deliver"),
    ]
    assert asked.workflow.bounds().model_calls.value == 7


async def test_a_structured_answer_is_its_object_and_a_wrong_one_is_not_sent_back() -> None:
    async with helper(scripted({"city": "Rome"})).chat("Where?", output=City) as run:
        assert (await run.result()).object == City(city="Rome")
    model = scripted("no city", {"city": "Rome"})
    async with helper(model).chat("Where?", output=City) as run:
        with pytest.raises(OutputInvalid):
            await run.result()
    async with helper(scripted(call("look", at=1))).chat("Where?", output=City) as run:
        assert (await run.result()).object is None
    assert len(model.requests) == 1


async def test_what_stands_around_a_call_stands_around_a_chat() -> None:
    log: list[str] = []

    def louder(text: str, ctx: MiddlewareContext) -> str:
        return text.upper()

    hooks = Hooks(
        on_start=lambda view: log.append("start"),
        on_step_finish=lambda step, view: log.append(f"step {step.number}"),
        on_end=lambda end, view: log.append(end.finish_reason),
    )
    bombs = Guardrail(output=lambda text, view: "BOMB" not in text)
    asked = helper(
        scripted("hello", "a bomb"),
        hooks=hooks,
        middlewares=[Middleware(output=louder)],
        guardrails=[bombs],
    )
    async with asked.chat("go") as run:
        assert (await run.result()).text == "HELLO"
        assert [fact.kind async for fact in run.facts()][-1] == "run.completed"
    async with asked.chat("go") as run:
        with pytest.raises(GuardrailBlocked):
            await run.result()
    assert log == ["start", "step 1", "stop", "start", "step 1", "blocked"]
    denied = helper(scripted("never"), permission=lambda asked: False)
    with pytest.raises(AgentDenied):
        async with denied.chat("go"):
            pytest.fail("it has begun")


async def test_a_chat_is_remembered_and_its_calls_wait_for_their_results() -> None:
    history = InMemoryHistory()
    model = scripted(call("look", at=1), "A cat.")
    asked = helper(model, memory=Memory(history=history))
    mine: Any = {"resource_id": "u1", "thread_id": "t1"}
    async with asked.chat("What is there?", **mine) as run:
        first = await run.result()
    async with asked.chat([tool_result(first.tool_calls[0], "a cat")], **mine) as run:
        assert (await run.result()).text == "A cat."
    assert roles(model.requests[1].messages) == ["system", "user", "assistant", "tool"]
    assert_valid(model.requests[1].messages)
    assert len(await history.load(Thread("u1", "t1"), last=9)) == 2


async def test_leaving_a_chat_stops_it_and_gives_back_what_it_was_made_with() -> None:
    model, ends = Endless(), []
    hooks = Hooks(on_end=lambda end, view: ends.append(end.finish_reason))
    async with helper(model, hooks=hooks).chat("go") as run:
        await model.thinking.wait()
    assert (run.status, model.closed, ends) == ("cancelled", 1, ["cancelled"])
    with pytest.raises(RunCancelled):
        await run.result()
    assert run.engine.closed

    model = Endless()
    with anyio.CancelScope() as scope:
        async with helper(model).chat("go") as run:
            await model.thinking.wait()
            scope.cancel()
            await anyio.sleep_forever()
    assert (run.status, model.closed, run.engine.closed) == ("cancelled", 1, True)


async def test_with_a_store_a_chat_is_recorded_beside_the_calls() -> None:
    store, model = MemoryStore(), scripted("one", "two")
    async with helper(model, store=store) as asked:
        async with asked.chat("go", run_id="r") as run:
            first = await run.result()
        async with asked.chat("go", run_id="r") as run:
            again = await run.result()
        assert (first.text, again.text, len(model.requests)) == ("one", "one", 1)
        (info,) = await asked.engine.runs()
        assert (info.run_id, info.status) == ("r", "completed")
        assert (await asked.generate_text("go")).text == "two"
