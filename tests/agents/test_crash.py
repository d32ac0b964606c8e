"""An agent whose process dies at any write, before or after it, comes to the same answer, and does nothing twice but what
was under way."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest

from agentflow import Agent, RunInterrupted, StoreError, TextResult, tool
from agentflow.agents import Guardrail, Hooks, Middleware
from agentflow.mock import MockModel, MockRequest, Rule, call, calls
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import assert_valid
from tests.durable.crashing import CrashingStore


class Place:
    """Where the agent is at work now: what is done outside, and the store. One agent serves all, since it is slow to define."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.store: Any = MemoryStore()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


NOW = Place()


@tool
async def look(at: int) -> int:
    """Look at something."""
    NOW.done[f"look {at}"] += 1
    return at


def below(request: MockRequest) -> Any:
    NOW.done[f"below {request.turn}"] += 1
    return call("look", at=7) if request.turn == 1 else "seven"


def above(request: MockRequest) -> Any:
    again = any("Say please" in message.text for message in request.messages)
    NOW.done[f"above {again} {request.turn}"] += 1
    match request.turn:
        case 1:
            return calls(call("look", at=1), call("ask_below", task="look"))
        case 2:
            return call("look", at=2)
    return "Please: seven." if again else "Seven."


def polite(text: str, ctx: Any) -> str:
    if "Please" not in text:
        ctx.abort("Say please.", retry=True)
    return text


def step(step: Any, view: Any) -> None:
    NOW.done[f"step {view.run_id} {step.number}"] += 1


AGENT = Agent(
    "above",
    "Ask.",
    MockModel([Rule(reply=above)]),
    [look],
    sub_agents=[Agent("below", "Look.", MockModel([Rule(reply=below)]), [look])],
    middlewares=[Middleware(output=polite)],
    max_middleware_retries=1,
    guardrails=[Guardrail(input=lambda messages, view: True)],
    hooks=Hooks(on_step_finish=step),
    store=NOW,
)


async def process(store: Any) -> TextResult | None:
    """What one process comes to, if it does not die."""
    NOW.store = store
    with contextlib.suppress(StoreError, RunInterrupted):
        async with AGENT as agent:
            return await agent.generate_text("go", run_id="r")
    return None


async def calm() -> tuple[Counter[str], TextResult, int]:
    """What is done, what comes of it, and how much is written, when nobody dies."""
    NOW.done, store = Counter(), CrashingStore(MemoryStore(), 0, before=False)
    result = await process(store)
    assert result is not None
    return NOW.done, result, store.writes


@pytest.mark.rule("R067", "R208")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_death_at_any_write_changes_neither_the_answer_nor_what_was_done(
    before: bool,
) -> None:
    undisturbed, expected, writes = await calm()
    assert expected.text == "Please: seven."
    assert writes > 30
    for at in range(1, writes + 1):
        NOW.done, inner = Counter(), MemoryStore()
        died = await process(CrashingStore(inner, at, before=before))
        result = await process(inner)
        assert result is not None, f"write {at}"
        assert (died is None) or died.text == expected.text
        assert result.text == expected.text
        assert result.messages == expected.messages
        assert_valid(result.messages)
        assert NOW.done.keys() == undisturbed.keys()
        # What was under way when the process died may be done once more; several calls of one answer may be under way.
        assert sum((NOW.done - undisturbed).values()) <= 2, f"write {at}"
        assert result.total_usage.calls >= expected.total_usage.calls


async def test_processes_that_each_die_at_once_come_to_the_end_together() -> None:
    undisturbed, expected, writes = await calm()
    NOW.done, inner = Counter(), MemoryStore()
    result = None
    for _ in range(2 * writes):
        result = result or await process(CrashingStore(inner, 3, before=False))
    assert result is not None
    assert result.messages == expected.messages
    assert NOW.done.keys() == undisturbed.keys()
