"""The nodes around an agent's work that read what it remembers, and keep what was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import call_id
from agentflow.agents.memory.owner import Owner, owner_recorded
from agentflow.agents.memory.recording import settle_recording
from agentflow.agents.memory.settings import Memory
from agentflow.agents.memory.turn import Turn
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.messages.message import Message
from agentflow.messages.message_list import MessageList
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.agents.guarded import GuardedState
    from agentflow.run.context import NodeContext

__all__ = ["Remembering"]


class Remembering:
    """The bodies of `recall` and `remember`.

    Args:
        setup: The setup of the agent.
    """

    __slots__ = ("_setup",)

    def __init__(self, setup: LoopSetup) -> None:
        self._setup = setup

    async def recall(self, state: GuardedState, ctx: NodeContext) -> dict[str, Any]:
        """Put what is remembered before what is asked."""
        memory = _memory(setup_in_force(self._setup, ctx))
        owner = owner_recorded(ctx)
        asked = _named(state["asked"], call_id(ctx))
        told = state.get("told")
        if told is None:
            recalled = await _recalled(memory, owner, asked, ctx)
        else:
            # A further attempt remembers what the first one did.
            recalled = MessageList(told).by_provenance("memory").messages
        return {"owner": owner, "told": [*recalled, *_besides(recalled, asked)]}

    async def remember(self, state: GuardedState, ctx: NodeContext) -> dict[str, Any]:
        """Make what was said a part of the history, and see it kept before anybody has the result."""
        memory = _memory(setup_in_force(self._setup, ctx))
        owner, result = state["owner"], state["reviewed"]
        await settle_recording(ctx)
        reason = _reason_to_skip(memory, owner)
        if reason:
            emit(ctx, "memory.skipped", data={"reason": reason})
            return {"result": result}
        turn = Turn(call_id(ctx), MessageList(result.messages).new.messages)

        async def keep() -> None:
            await memory.keep(owner, turn)

        await ctx.once("remember", keep)
        emit(ctx, "memory.saved", data={"messages": len(turn.messages)})
        return {"result": result}


def _memory(setup: LoopSetup) -> Memory:
    # The graph has these nodes only where there is one.
    assert setup.memory is not None
    return setup.memory


def _reason_to_skip(memory: Memory, owner: Owner) -> str:
    if not memory.writes:
        return "the memory is read only"
    if owner.resource_id is None:
        return "no resource_id says whose memory it is"
    return "" if owner.thread_id is not None else "no thread_id says which conversation it is"


def _named(asked: Iterable[Message], turn_id: str) -> list[Message]:
    """Messages with ids, by which they are known when they are recalled and given once more."""
    return [
        message if message.id is not None else replace(message, id=f"{turn_id}/input-{at}")
        for at, message in enumerate(asked, start=1)
    ]


def _besides(recalled: Sequence[Message], asked: Iterable[Message]) -> list[Message]:
    """What is asked and not recalled: a caller may give the conversation once more that the memory has kept."""
    ids = {message.id for message in recalled}
    answered = {result.call_id for message in recalled for result in message.tool_results}
    found: list[Message] = []
    for message in asked:
        called = {call.id for call in message.tool_calls}
        if message.id in ids:
            answered |= called
        elif not any(result.call_id in answered for result in message.tool_results):
            # Results have no names of their own, and some servers number the calls of each answer anew.
            answered -= called
            found.append(message)
    return found


async def _recalled(
    memory: Memory, owner: Owner, asked: Sequence[Message], ctx: NodeContext
) -> tuple[Message, ...]:
    query = "\n".join(message.text for message in asked if message.role == "user")
    turns = await memory.read(owner, query)
    found = MessageList().add(
        (message for turn in turns for message in turn.messages), provenance="memory"
    )
    if owner.resource_id is not None:
        emit(ctx, "memory.recalled", data={"turns": len(turns), "messages": len(found)})
    return found.messages
