"""The node of the loop that carries out what the model proposed, so that every call has one result, whatever ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.events import ToolResultEvent, takes_events, tell
from agentflow.agents.loop_state import LoopState
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.messages.message import Message, tool_result
from agentflow.messages.part import ToolCall
from agentflow.run.decide import Bail
from agentflow.tools.execution import run_calls
from agentflow.tools.results import CallResults

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Acting", "settled", "tell_results"]


class Acting:
    """The body of `tools`.

    Args:
        setup: The setup of the loop.
    """

    __slots__ = ("_setup",)

    def __init__(self, setup: LoopSetup) -> None:
        self._setup = setup

    async def tools(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """Carry out what the model proposed; every call gets its result."""
        update = await self.carried_out(state, ctx)
        await tell_results(ctx, update["messages"])
        return update

    async def carried_out(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """The same, without anybody being told of the results."""
        record, messages = state["steps"][-1], state["messages"]
        limit = setup_in_force(self._setup, ctx).repeat_limit
        results = CallResults(messages[record.at].tool_calls)
        ended: dict[str, Any] = {}
        try:
            made = await run_calls(
                ctx,
                results,
                offered=record.offered,
                repeat_limit=limit,
                history=() if limit is None else messages[: record.at],
            )
        except Bail as bail:
            # Caught here, where the calls are known: the conversation must stay one that can be gone on with.
            if results.failed:
                # Nobody would ever hear of the failure: the model is to see it first, and may end the loop after that.
                names = ", ".join(sorted({repr(call.name) for call in results.failed}))
                made = results.messages(
                    f"this call was to end the loop, or was made beside such a call, but {names} failed before"
                )
            else:
                made = results.messages("a tool call of this answer has ended the loop")
                ended = {"bailed": bail.value}
        return {"messages": made, **ended}


async def tell_results(ctx: NodeContext, messages: Sequence[Message]) -> None:
    """Hand out what has come of tool calls.

    Raises:
        DeliveryError: The sink failed.
    """
    if not takes_events(ctx):
        return
    for message in messages:
        for result in message.tool_results:
            await tell(ctx, ToolResultEvent(result=result))


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
