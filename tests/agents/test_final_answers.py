"""Tools that have the answer, beside others; limits that are given; and tasks that are handed over, told of once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from agentflow import Agent, ToolContext, tool
from agentflow.agents import (
    Guardrail,
    Hooks,
    SubAgentEvent,
    ToolCallEvent,
    ToolResultEvent,
    step_count,
)
from agentflow.agents.memory import Memory, Thread, Turn
from agentflow.mock import call, calls
from tests.agents.kit import assert_valid, look, scripted


@tool
async def finish(text: str, ctx: ToolContext) -> None:
    """Give the answer."""
    # After whatever can happen beside it has happened.
    await anyio.wait_all_tasks_blocked()
    ctx.bail(text)


@tool
async def broken() -> str:
    """Fail."""
    raise ValueError("the disk is full")


@tool
async def wait() -> str:
    """Wait for ever."""
    await anyio.sleep_forever()
    raise AssertionError


@pytest.mark.case("P091")
async def test_a_failure_beside_the_final_answer_goes_back_to_the_model() -> None:
    model = scripted(
        calls(call("finish", text="saved"), call("broken")), call("finish", text="not saved")
    )
    result = await Agent("a", model=model, tools=[finish, broken]).generate_text("go")
    assert (result.text, result.finish_reason, len(result.steps)) == ("not saved", "bail", 2)
    told = {one.name: one.content for one in model.requests[1].messages[-1].tool_results} | {
        one.name: one.content for one in model.requests[1].messages[-2].tool_results
    }
    assert "the disk is full" in told["broken"]
    assert "'broken' failed before" in told["finish"]
    assert_valid(result.messages)


@pytest.mark.case("P092")
async def test_calls_beside_the_final_answer_are_stopped_and_each_has_a_result_and_an_event() -> (
    None
):
    model = scripted(calls(call("wait"), call("finish", text="done"), call("look")))
    agent = Agent("a", model=model, tools=[finish, wait, look])
    async with agent.stream_text("go") as stream:
        events = [event async for event in stream.events]
        assert await stream.finish_reason == "bail"
        assert_valid(await stream.messages)
    results = {e.result.name: e.result for e in events if isinstance(e, ToolResultEvent)}
    assert sorted(results) == ["finish", "look", "wait"]
    assert "has ended the loop" in results["wait"].content
    assert not results["look"].is_error


@pytest.mark.case("P100")
def test_a_limit_that_is_given_holds_also_when_it_is_the_default() -> None:
    ends: Any = {"stop_when": step_count(500)}
    assert Agent("a", **ends).workflow.bounds().model_calls.value == 1000
    assert Agent("a", max_steps=10, **ends).workflow.bounds().model_calls.value == 10
    helped = Agent("a", sub_agents=[Agent("b"), Agent("c")], max_steps=10)
    assert helped.profile.steps == 10
    assert helped.profile.over({"max_steps": 10}).steps == 10
    assert Agent("a", max_steps=20).profile.over({"max_steps": 10}).steps == 10


@pytest.mark.case("P127")
async def test_a_task_that_is_handed_over_is_told_of_and_kept_once() -> None:
    handed: list[str] = []
    below = Agent("below", model=scripted(call("look"), "found"), tools=[look])
    agent = Agent(
        "boss",
        model=scripted(call("ask_below", task="look"), "ok"),
        sub_agents=[below],
        hooks=Hooks(on_handoff=lambda handoff, view: handed.append(handoff.agent)),
    )
    async with agent.stream_text("go") as stream:
        events = [event async for event in stream.events]
        messages = await stream.messages
    own = [event for event in events if not isinstance(event, SubAgentEvent)]
    told = Counter(
        [("call", e.call.name) for e in own if isinstance(e, ToolCallEvent)]
        + [("result", e.result.name) for e in own if isinstance(e, ToolResultEvent)]
    )
    assert told == {("call", "ask_below"): 1, ("result", "ask_below"): 1}
    inner = [e.event for e in events if isinstance(e, SubAgentEvent)]
    assert sum(isinstance(event, ToolCallEvent) for event in inner) == 1
    assert handed == ["below"]
    assert [made.name for m in messages for made in m.tool_calls] == ["ask_below"]


@pytest.mark.rule("R104")
async def test_memory_and_guardrails_are_attached_by_their_ports_alone() -> None:
    class Fake:
        """All that an agent asks of a history."""

        def __init__(self) -> None:
            self.turns: list[Turn] = []

        async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
            return self.turns[-last:]

        async def append(self, thread: Thread, turn: Turn) -> None:
            self.turns.append(turn)

        async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
            raise AssertionError("nothing was to be recorded")

        async def recorded(self, thread: Thread, turn_id: str) -> Sequence[Turn]:
            return ()

        async def find(self, resource: str, turn_ids: Sequence[str]) -> Sequence[Turn]:
            return ()

        async def forget(self, resource: str, thread: str | None = None) -> None:
            self.turns.clear()

    judged: list[str] = []

    def judge(text: str, view: Any) -> bool:
        judged.append(text)
        return True

    history, model = Fake(), scripted("one", "two")
    agent = Agent(
        "a",
        model=model,
        memory=Memory(history=history),
        guardrails=[Guardrail(name="fake", output=judge)],
    )
    for asked in ("first", "second"):
        await agent.generate_text(asked, resource_id="u", thread_id="t")
    assert judged == ["one", "two"]
    assert [m.text for m in model.requests[1].messages] == ["first", "one", "second"]
    assert len(history.turns) == 2


@pytest.mark.rule("R106")
def test_an_agent_runs_and_is_no_door_to_what_is_stored() -> None:
    public = {name for name in dir(Agent) if not name.startswith("_")}
    assert public == {
        *("generate_text", "generate_object", "stream_text", "stream_object", "chat", "resume"),
        *(
            "generate_text_sync",
            "generate_object_sync",
            "as_tool",
            "as_handoff",
            "as_node",
            "close",
        ),
        *("id", "workflow", "engine", "task", "engine_for", "made_for", "apart", "is_as_made"),
    }
