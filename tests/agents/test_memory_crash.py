"""An agent whose process dies at any write has one turn in its history, as if nothing had happened."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, RunInterrupted, StoreError, TextResult
from agentflow.agents.memory import (
    InMemoryHistory,
    InMemoryWorkingMemory,
    Memory,
    Thread,
    Turn,
)
from agentflow.messages import Message, user
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import look
from tests.durable.crashing import CrashingStore

U1 = Thread("u1", "t1")


class Note(BaseModel):
    """What is known."""

    seen: int


def reply(request: MockRequest) -> Any:
    match request.turn:
        case 1:
            return call("look", at=1)
        case 2:
            return call("update_working_memory", memory={"seen": 1})
    return "Seen."


class Place:
    """Where the agent is at work now. One agent serves all, since it is slow to define."""

    def __init__(self) -> None:
        self.history = InMemoryHistory()
        self.working = InMemoryWorkingMemory()
        self.store: Any = MemoryStore()
        self.loads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


NOW = Place()


class Here:
    """The history and working memory of where the agent is at work now."""

    async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
        NOW.loads += 1
        return await NOW.history.load(thread, last=last)

    def __getattr__(self, name: str) -> Any:
        part = NOW.working if name in ("get", "put") else NOW.history
        return getattr(part, name)


HERE: Any = Here()
AGENT = Agent(
    "keeper",
    "Look.",
    MockModel([Rule(reply=reply)]),
    [look],
    memory=Memory(history=HERE, working=HERE, working_type=Note, save="step_and_wait"),
    store=NOW,
)


async def process(store: Any) -> TextResult | None:
    """What one process comes to, if it does not die."""
    NOW.store = store
    with contextlib.suppress(StoreError, RunInterrupted):
        async with AGENT as agent:
            return await agent.generate_text("go", run_id="r", resource_id="u1", thread_id="t1")
    return None


async def begin() -> None:
    NOW.__init__()  # type: ignore[misc]
    await NOW.history.append(U1, Turn("before", (user("hello", id="before"),)))


async def kept() -> tuple[list[tuple[str, list[Message]]], Sequence[Turn], str | None]:
    turns = await NOW.history.load(U1, last=9)
    recorded = await NOW.history.recorded(U1, "r")
    return [(turn.id, list(turn.messages)) for turn in turns], recorded, await NOW.working.get("u1")


@pytest.mark.rule("R219", "R067")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_death_at_any_write_leaves_one_turn(before: bool) -> None:
    await begin()
    calm = CrashingStore(MemoryStore(), 0, before=False)
    undisturbed = await process(calm)
    assert undisturbed is not None
    expected = await kept()
    turns, recorded, known = expected
    assert [id for id, _ in turns] == ["before", "r"]
    assert (list(recorded), known) == ([], '{"seen": 1}')
    for at in range(1, calm.writes + 1):
        await begin()
        inner = MemoryStore()
        await process(CrashingStore(inner, at, before=before))
        again = await process(inner)
        assert again is not None, f"write {at}"
        assert again.messages == undisturbed.messages
        assert await kept() == expected, f"write {at}"
        # What was read is in the record, unless the process died before that was written.
        assert NOW.loads <= 2
