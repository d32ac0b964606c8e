"""The framework's own part of a call: there from the first hook on, and no part of the caller's context."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import Agent, ToolContext, tool
from agentflow.agents import CallView, Guardrail, Hooks, Middleware, Step
from agentflow.agents.memory import Thread, Turn
from agentflow.mock import MockModel, Rule, call
from tests.agents.kit import look, roles, scripted
from tests.agents.test_memory_steps import MINE, Told, agent


def at(view: CallView) -> tuple[list[str], list[int], str]:
    """What the framework keeps of a call, in short."""
    own = view.system_context
    return roles(own.messages), [step.number for step in own.steps], own.persistence


@pytest.mark.rule("R019", "R021")
async def test_the_first_hook_sees_an_empty_buffer_an_idle_queue_and_the_agent() -> None:
    seen: list[Any] = []

    async def started(view: CallView) -> None:
        seen.append((at(view), view.system_context.agent, dict(view.context)))

    async def stepped(step: Step, view: CallView) -> None:
        seen.append(at(view))

    hooks = Hooks(
        on_start=started,
        on_step_finish=stepped,
        on_end=lambda end, view: seen.append(at(view)),
    )
    history = Told()
    model = scripted(call("look", at=1), "done", "again")
    asked = agent(history, model, "step", hooks=hooks)
    await asked.generate_text("go", context={"tier": "pro"}, **MINE)
    assert seen[0] == (([], [], "idle"), asked, {"tier": "pro"})
    assert seen[1] == (["assistant", "tool"], [1], "waiting")
    assert seen[2] == (["assistant", "tool", "assistant"], [1, 2], "waiting")
    assert seen[3] == (["assistant", "tool", "assistant"], [1, 2], "idle")
    await asked.generate_text("go on", **MINE)
    assert seen[4] == (([], [], "idle"), asked, {})
    assert seen[5] == (["assistant"], [1], "waiting")


@pytest.mark.rule("R021")
async def test_the_queue_is_at_work_while_a_record_is_written() -> None:
    seen: list[str] = []
    views: list[CallView] = []

    class Slow(Told):
        async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
            seen.append(views[0].system_context.persistence)
            await super().record(thread, turn, at=at)

    history = Slow()
    asked = agent(history, scripted("done"), "step_and_wait", hooks=Hooks(on_start=views.append))
    await asked.generate_text("go", **MINE)
    assert seen == ["writing"]
    assert views[0].system_context.persistence == "idle"


@pytest.mark.rule("R020", "R021", "R028")
async def test_a_sub_agent_has_its_own_and_the_callers_context_has_nothing_of_it() -> None:
    seen: dict[str, Any] = {}

    @tool
    async def meddle(ctx: ToolContext) -> None:
        ctx.context.update(agent=None, messages=["x"], steps=[], persistence="gone")

    def hooks(name: str) -> Hooks:
        return Hooks(
            on_start=lambda view: seen.update({f"{name} starts": at(view)}),
            on_end=lambda end, view: seen.update(
                {name: (*at(view), view.system_context.agent.name)}
            ),
        )

    below = Agent("below", None, scripted(call("meddle"), "ok"), [meddle], hooks=hooks("below"))
    model = scripted(call("ask_below", task="x"), "done")
    asked = Agent("above", None, model, sub_agents=[below], hooks=hooks("above"))
    await asked.generate_text("go")
    said = (["assistant", "tool", "assistant"], [1, 2], "idle")
    assert seen == {
        "above starts": ([], [], "idle"),
        "below starts": ([], [], "idle"),
        "below": (*said, "below"),
        "above": (*said, "above"),
    }


async def test_middleware_and_guardrails_see_it_too() -> None:
    seen: list[Any] = []

    def note(value: Any, view: Any) -> Any:
        seen.append(at(view))
        return value

    def judged(value: Any, view: CallView) -> bool:
        seen.append(at(view))
        return True

    asked = Agent(
        "helper",
        None,
        scripted(call("look"), "done"),
        [look],
        middlewares=[Middleware(input=note, output=note)],
        guardrails=[Guardrail(input=judged, output=judged)],
    )
    await asked.generate_text("go")
    empty: Any = ([], [], "idle")
    full = (["assistant", "tool", "assistant"], [1, 2], "idle")
    assert seen == [empty, empty, full, full]


def test_in_a_sync_call_it_is_the_agent_that_was_asked() -> None:
    seen: list[Any] = []
    hooks = Hooks(on_start=lambda view: seen.append(view.system_context.agent))
    asked = Agent("helper", None, scripted("ok"), hooks=hooks)
    asked.generate_text_sync("go")
    assert seen == [asked]


async def test_calls_at_the_same_time_have_each_their_own() -> None:
    seen: dict[str, list[str]] = {}
    hooks = Hooks(
        on_end=lambda end, view: seen.update(
            {view.identity: [message.text for message in view.system_context.messages]}
        )
    )

    def reply(request: Any) -> str:
        return f"to {request.messages[-1].text}"

    asked = Agent("helper", None, MockModel([Rule(reply=reply)]), hooks=hooks)

    async def one(name: str) -> None:
        await asked.generate_text(name, identity=name)

    async with anyio.create_task_group() as group:
        for name in "abc":
            group.start_soon(one, name)
    assert seen == {name: [f"to {name}"] for name in "abc"}
