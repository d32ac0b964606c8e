"""The nodes of a loop that can hand the conversation over: the calls are carried out, and then another agent takes it from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired

from agentflow.agents.acting import Acting, tell_results
from agentflow.agents.call_view import CallView
from agentflow.agents.deciding import end_step
from agentflow.agents.delegation import ends_its_caller, run_below
from agentflow.agents.events import HandoffEvent, tell
from agentflow.agents.hooks import Handoff, notify
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import LoopState
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.agents.speaking import SpeakingSink
from agentflow.agents.step import steps_of
from agentflow.errors import DeliveryError
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.graph.route import route
from agentflow.messages.message import Message, tool_result

if TYPE_CHECKING:
    from agentflow.agents.result import TextResult
    from agentflow.agents.transfer import Transfer
    from agentflow.messages.part import ToolCall
    from agentflow.run.context import NodeContext

__all__ = ["HandingOver", "HandingState", "handed_over"]


class HandingState(LoopState):
    """The state of a loop that can hand over.

    `handing` is the result of the call that does, as the conversation gets it when that has gone well; `None` where the step
    has no such call.
    """

    handing: NotRequired[Message | None]


class HandingOver:
    """The bodies of `tools` and `handoff`.

    Args:
        setup: The setup of the loop.
        acting: Carries the calls out.
    """

    __slots__ = ("_acting", "_setup")

    def __init__(self, setup: LoopSetup, acting: Acting) -> None:
        self._setup = setup
        self._acting = acting

    async def tools(self, state: HandingState, ctx: NodeContext) -> dict[str, Any]:
        """Carry out what the model proposed; a call that hands over gets its result when that has come to an end."""
        update = await self._acting.carried_out(state, ctx)
        known = setup_in_force(self._setup, ctx).handoffs
        held = None if "bailed" in update else _handing(update["messages"], known)
        told = [message for message in update["messages"] if message is not held]
        await tell_results(ctx, told)
        return {**update, "messages": told, "handing": held}

    async def handoff(self, state: HandingState, ctx: NodeContext) -> dict[str, Any]:
        """Let the other agent go on with the conversation; what it comes to is what the loop comes to."""
        setup = setup_in_force(self._setup, ctx)
        held = state["handing"]
        assert held is not None
        proposed = state["messages"][state["steps"][-1].at].tool_calls
        call = next(one for one in proposed if one.id == held.tool_results[0].call_id)
        transfer, conversation = setup.handoffs[call.name], [*state["messages"], held]
        carried = await transfer.carried(conversation, ctx)
        await _told(setup, ctx, transfer, call)
        sinks: list[SpeakingSink] = []

        def speaking(parent: Any, name: str) -> SpeakingSink | None:
            sinks.extend([] if parent is None else [SpeakingSink(parent, name)])
            return sinks[0] if sinks else None

        profile = transfer.profile_in(setup, streams=ctx.run.sink)
        name = transfer.agent.name
        try:
            taken = await run_below(
                ctx, transfer.agent, carried, name=name, profile=profile, sink=speaking
            )
        except Exception as error:
            if ends_its_caller(error, ctx, None):
                raise
            for refused in (sink.refused for sink in sinks if sink.refused is not None):
                # It has failed because of what holds for this call, which has failed with it.
                raise DeliveryError(f"what {name!r} said was refused: {refused}") from refused
            told = f"Error: agent {name!r} failed, and the conversation is yours again: {type(error).__name__}: {error}"
            failed = tool_result(call, told, is_error=True)
            await tell_results(ctx, [failed])
            return {"messages": [failed]}
        await tell_results(ctx, [held])
        step = steps_of(state["steps"], conversation)[-1]
        whole = [*conversation, *taken.new_messages]
        await end_step(setup, ctx, step, whole)
        result = _joined(state, conversation, taken, name)
        return {"messages": [held, *taken.new_messages], "result": result}


def _handing(results: Sequence[Message], known: Any) -> Message | None:
    """The result of the call that hands over, if it may."""
    for message in results:
        for result in message.tool_results:
            if result.name in known and not result.is_error:
                return message
    return None


async def _told(setup: LoopSetup, ctx: NodeContext, transfer: Transfer, call: ToolCall) -> None:
    """Tell the hooks, once, and whoever follows the stream."""
    reason = call.arguments.get("reason")
    handoff = Handoff(
        agent=transfer.agent.name,
        task=reason if isinstance(reason, str) else "",
        kind="conversation",
    )
    if setup.hooks:
        view = CallView.of(ctx)
        # A hand-off that waits for an answer is gone through again, and was told of before.
        await ctx.once("on_handoff", lambda: notify(setup.hooks, "on_handoff", handoff, view))
    await tell(ctx, HandoffEvent(agent=handoff.agent))


def _joined(
    state: HandingState, conversation: Sequence[Message], taken: TextResult, name: str
) -> LoopResult:
    """What the other agent has come to, as the result of the loop: the conversation is one, and so are the steps."""
    loop, before = taken.loop, state["steps"]
    shift = len(conversation) - loop.given
    after = (
        replace(record, number=record.number + len(before), at=record.at + shift)
        for record in loop.records
    )
    return replace(
        loop,
        messages=(*conversation, *loop.new_messages),
        given=state["given"],
        records=(*before, *after),
        path=(name, *loop.path),
    )


def handed_over(handing: HandingOver, uses: Uses) -> Node:
    """The node at which the conversation is handed over.

    Args:
        handing: Its body.
        uses: What whoever takes over may spend, as it is proved of them.
    """
    return node(
        handing.handoff,
        requires=["messages", "steps", "given", "handing"],
        provides=["messages"],
        may_provide=["result"],
        uses=uses,
        routes=[route.deliver_if_ready("result"), route.to("decide")],
    )
