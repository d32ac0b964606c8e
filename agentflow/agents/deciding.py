"""The nodes of the loop that decide what follows a step: the next one, or the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.events import StepEvent, takes_events, tell
from agentflow.agents.hooks import notify
from agentflow.agents.loop_result import FinishReason, LoopResult
from agentflow.agents.loop_state import LoopState, last_step, steps_so_far
from agentflow.agents.memory.recording import record_step
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.agents.step import Step
from agentflow.agents.stop import is_met
from agentflow.agents.structured_step import bailed_with, not_generated
from agentflow.errors import OutputInvalid
from agentflow.messages.message import Message, user
from agentflow.run.effects import emit, is_listened_to
from agentflow.tools.results import result_text

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Deciding", "end_step", "result_of"]


class Deciding:
    """The bodies of `decide` and `conclude`.

    Args:
        setup: What the loop asks with.
    """

    __slots__ = ("_setup",)

    def __init__(self, setup: LoopSetup) -> None:
        self._setup = setup

    async def decide(self, state: LoopState, ctx: NodeContext) -> dict[str, Any] | None:
        """End when the model is done, a tool has given the answer, or a condition says so."""
        setup = setup_in_force(self._setup, ctx)
        if is_listened_to(ctx) or takes_events(ctx):
            await _told(ctx, last_step(state))
        if setup.memory is not None:
            await record_step(setup.memory, ctx, state["messages"])
        if "bailed" in state:
            value = state["bailed"]
            if not setup.rewrites_output:
                value = bailed_with(setup.output, value, len(state["steps"]))
            return {"result": result_of(state, "bail", text=result_text(value), object=value)}
        if setup.hooks:
            await _finished_step(setup, ctx, last_step(state))
        record = state["steps"][-1]
        answer = state["messages"][record.at]
        if not answer.tool_calls:
            return self._finished(setup, state, answer)
        # All steps are gathered only for somebody who looks at them: a long loop would pay for it at every step.
        if setup.stop_when and await is_met(setup.stop_when, steps_so_far(state)):
            if setup.output is not None:
                raise not_generated(record.number, "a stop condition ended the loop")
            return {"result": result_of(state, "stop_when")}
        return None

    def _finished(self, setup: LoopSetup, state: LoopState, answer: Message) -> dict[str, Any]:
        """The end, with the value that was asked for; or the next step, when the answer was none."""
        if setup.output is None:
            return {"result": result_of(state, "stop")}
        try:
            value = setup.output.parse(answer)
        except OutputInvalid as error:
            if state.get("corrected", 0) >= setup.corrections:
                raise
            complaint = f"That is no valid answer: {error}\nAnswer again, with the whole value and nothing else."
            return {"messages": [user(complaint, provenance="notice")], "corrected": 1}
        return {"result": result_of(state, "stop", object=value)}

    async def conclude(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """End with what there is, because the steps ran out."""
        setup = setup_in_force(self._setup, ctx)
        step = last_step(state)
        closing = state["steps"][-1].closing
        if closing:
            await end_step(setup, ctx, step, state["messages"])
        if setup.output is None:
            return {"result": result_of(state, "max_steps")}
        if not closing or step.tool_calls:
            raise not_generated(step.number, "the steps ran out")
        value = setup.output.parse(step.messages[0])
        return {"result": result_of(state, "max_steps", object=value)}


async def end_step(setup: LoopSetup, ctx: NodeContext, step: Step, said: Sequence[Message]) -> None:
    """See to all that follows a step which no tool has ended the loop in: it is told, recorded, and the hooks are called.

    Args:
        setup: The setup in force.
        ctx: The visit that ends it.
        step: The step.
        said: The conversation with it.
    """
    await _told(ctx, step)
    await record_step(setup.memory, ctx, said)
    if setup.hooks:
        await _finished_step(setup, ctx, step)


async def _finished_step(setup: LoopSetup, ctx: NodeContext, step: Step) -> None:
    """Call the hooks, once for a step: a crash right after must not have them called again."""

    async def call() -> None:
        await notify(setup.hooks, "on_step_finish", step, CallView.of(ctx))

    await ctx.once("on_step_finish", call)


async def _told(ctx: NodeContext, step: Step) -> None:
    if is_listened_to(ctx):
        data = {
            "step": step.number,
            "finish_reason": step.finish_reason,
            "usage": step.usage,
            "items": step.items,
        }
        emit(ctx, "step.completed", data=data, content=step.messages)
    await tell(ctx, StepEvent(step=step))


def result_of(
    state: LoopState, reason: FinishReason, *, text: str | None = None, object: Any = None
) -> LoopResult:
    """What a loop has come to.

    Args:
        state: Its state.
        reason: Why it ended.
        text: Its answer; default: what the model said last.
        object: The value of the answer, if it has one.
    """
    records = state["steps"]
    return LoopResult(
        text=state["messages"][records[-1].at].text if text is None else text,
        object=object,
        messages=tuple(state["messages"]),
        given=state["given"],
        records=tuple(records),
        finish_reason=reason,
    )
