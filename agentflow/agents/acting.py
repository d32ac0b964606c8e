"""The node of the loop that carries out what the model proposed, so that every call has one result, whatever ends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.events import ToolResultEvent, tell
from agentflow.agents.loop_state import LoopState
from agentflow.messages.message import Message, tool_result
from agentflow.messages.part import ToolCall
from agentflow.run.decide import Bail
from agentflow.tools.execution import result_text, run_calls

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["act", "settled"]


async def act(state: LoopState, ctx: NodeContext) -> dict[str, Any]:
    """Carry out what the model proposed; every call gets its result."""
    record = state["steps"][-1]
    calls = state["messages"][record.at].tool_calls
    known = [call for call in calls if call.name in record.offered]
    refused = {
        call.id: _refused(ctx, call, record.offered)
        for call in calls
        if call.name not in record.offered
    }
    ended: dict[str, Any] = {}
    try:
        made = await run_calls(ctx, known)
    except Bail as bail:
        # Caught here, where the calls are known: the conversation must stay one that can be gone on with.
        made = [_result_so_far(ctx, call) for call in known]
        ended = {"bailed": bail.value}
    messages = _in_order(calls, made, refused)
    for message in messages:
        for result in message.tool_results:
            await tell(ctx, ToolResultEvent(result=result))
    return {"messages": messages, **ended}


def _refused(ctx: NodeContext, call: ToolCall, offered: Sequence[str]) -> Message:
    """The result of a call of a tool that the model was not offered: it may be there, but not for this step."""
    listed = ", ".join(map(repr, offered)) or "none"
    reason = f"there is no tool {call.name!r} in this step; the tools are: {listed}"
    tools: Any = ctx.tools
    tools.refuse(call.name, call.id, reason)
    return tool_result(call, f"Error: {reason}", is_error=True)


def _in_order(
    calls: Sequence[ToolCall], made: Iterable[Message], refused: Mapping[str, Message]
) -> list[Message]:
    """One result for each call, in the order of the calls."""
    results = iter(made)
    return [refused[call.id] if call.id in refused else next(results) for call in calls]


def _result_so_far(ctx: NodeContext, call: ToolCall) -> Message:
    """What a call had come to when another one ended the loop."""
    key = ctx.effect_key(f"tool:{ctx.attempt}:{call.id}")
    done = ctx.record.find(key)
    if done is not None:
        return tool_result(call, result_text(done.value.value))
    failed = ctx.record.find(f"{key}:failed")
    if failed is not None:
        return tool_result(call, f"Error: {failed.value}", is_error=True)
    return tool_result(call, "The loop was ended by a tool call of this answer.")


def settled(messages: Sequence[Message], reason: str) -> tuple[Message, ...]:
    """A conversation that broke off, with a result for every call that has none.

    Args:
        messages: The conversation; of its last answer, some calls may have no result.
        reason: Why it broke off, for the results that are made up.
    """
    found: list[Message] = []
    missing: dict[str, ToolCall] = {}

    def fill() -> None:
        found.extend(
            tool_result(
                call, f"Error: {reason}; whether the call was made is not known", is_error=True
            )
            for call in missing.values()
        )
        missing.clear()

    for message in messages:
        if message.role != "tool":
            fill()
        found.append(message)
        missing.update((call.id, call) for call in message.tool_calls)
        for result in message.tool_results:
            missing.pop(result.call_id, None)
    fill()
    return tuple(found)
