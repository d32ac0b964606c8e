"""The nodes of the loop that ask the model: what is asked is put together, then asked, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.events import ToolCallEvent, takes_events, tell
from agentflow.agents.hooks import prepared
from agentflow.agents.loop_state import LoopState, steps_so_far, told_conversation
from agentflow.agents.memory.working import INTERNAL
from agentflow.agents.middleware import Middleware, handled_once, seen_by
from agentflow.agents.middleware_span import spanned
from agentflow.agents.model_tries import telling_of_tries
from agentflow.agents.pending_request import committed, dispatched
from agentflow.agents.progress import note_progress
from agentflow.agents.request import StepRequest
from agentflow.agents.sendable import check_sendable
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.agents.step import StepRecord, message_id
from agentflow.agents.step_plan import PrepareStep, StepContext, StepPlan, chained, planned
from agentflow.agents.structured_step import StructuredStep
from agentflow.messages.message import Message, tool_result
from agentflow.messages.sanitising import sanitise, strip_dangling_reasoning
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Invocation

__all__ = ["Asking"]


class Asking:
    """The bodies of `assemble`, `model` and `answer`.

    Args:
        setup: What the loop asks with.
    """

    __slots__ = ("_setup",)

    def __init__(self, setup: LoopSetup) -> None:
        self._setup = setup

    async def assemble(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """Gather what the model is told and offered besides the conversation."""
        setup = setup_in_force(self._setup, ctx)
        if setup.hooks or setup.middlewares or setup.guardrails:
            note_progress(ctx)
        known = state.get("request")
        told = await setup.told(ctx, state["messages"]) if known is None else known.told
        plan = setup.plan
        prepares = _prepares(setup, ctx)
        if prepares:
            step = StepContext.of(ctx, state["step"], state["messages"], steps_so_far(state))
            plan = (await planned(chained(prepares), step)).over(plan)
        if known is not None and known.plan is plan:
            return {"request": known}
        return {"request": StepRequest(told=told, plan=plan)}

    async def model(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """Ask the model, once."""
        return await self._ask(state, ctx, state["request"], closing=False)

    async def answer(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """Ask the model for its last word, because the steps ran out: it may call no tool any more."""
        request = state["request"]
        plan = StepPlan(tool_choice="none").over(request.plan)
        asked = await self._ask(state, ctx, StepRequest(told=request.told, plan=plan), closing=True)
        (said,) = asked["messages"]
        # A model that calls a tool all the same gets no more than the result that every call has.
        refused = [
            tool_result(call, "Error: no step is left; nothing was executed", is_error=True)
            for call in said.tool_calls
        ]
        return {**asked, "messages": [said, *refused]}

    async def _ask(
        self, state: LoopState, ctx: NodeContext, request: StepRequest, *, closing: bool
    ) -> dict[str, Any]:
        setup, plan = setup_in_force(self._setup, ctx), request.plan
        specs = ctx.tools.specs(plan.tools)
        conversation = await _conversation(setup, state, ctx, request)
        number = len(state.get("steps", ())) + 1
        made: Invocation | None = None

        async def send(messages: Sequence[Message]) -> Message:
            nonlocal made
            call = ctx.model.invoke(
                messages,
                transport="message" if setup.output is None else StructuredStep(setup.output),
                model=plan.model,
                tools=specs,
                # Without a tool on offer there is nothing to choose.
                tool_choice=plan.tool_choice if specs else None,
                max_output_tokens=plan.max_output_tokens,
                parameters=plan.parameters,
            )
            reply = await telling_of_tries(ctx, setup.hooks, plan.model, call)
            made = reply.invocation
            answer: Message = reply.value
            return answer

        if setup.middlewares:
            answer = await dispatched(setup, ctx, conversation, number, send)
        else:
            answer = await send(conversation)
        if setup.middlewares:
            answer = await committed(setup, ctx, answer)
        said = answer.named(message_id(ctx.run_id, number))
        if takes_events(ctx):
            for proposed in said.tool_calls:
                await tell(ctx, ToolCallEvent(call=proposed))
        record = StepRecord(
            number=number,
            at=len(state["messages"]),
            # Where middleware has answered in its place, no model has.
            model="" if made is None else made.name,
            finish_reason=None if made is None else made.finish_reason,
            usage={} if made is None else made.usage,
            offered=tuple([spec.name for spec in specs]),
            closing=closing,
        )
        return {"messages": [said], "steps": [record]}


def _prepares(setup: LoopSetup, ctx: NodeContext) -> list[PrepareStep]:
    """Everybody who says what a step asks with, in their order."""
    found = [] if setup.prepare_step is None else [setup.prepare_step]
    for at, middleware in enumerate(setup.middlewares):
        if middleware.step is not None:
            found.append(_as_prepare(at, middleware, ctx))
    return found


def _as_prepare(at: int, middleware: Middleware, ctx: NodeContext) -> PrepareStep:
    async def prepare(step: StepContext) -> StepPlan | None:
        assert middleware.step is not None
        seen = seen_by(at, middleware, CallView.of(ctx))
        with spanned(ctx, at, middleware, "step", step.messages) as tell:
            plan: StepPlan | None = await handled_once(middleware.step, step, seen)
            tell(plan)
        return plan

    return prepare


async def _conversation(
    setup: LoopSetup, state: LoopState, ctx: NodeContext, request: StepRequest
) -> Sequence[Message]:
    """The messages as the model gets them: a legal sequence, whatever the history, after whoever has a say in it."""
    sanitised = sanitise(told_conversation(state), internal=INTERNAL)
    if sanitised.repairs:
        repairs = [{"kind": done.kind, "at": done.at} for done in sanitised.repairs]
        emit(ctx, "history.repaired", data={"repairs": repairs})
    conversation: Sequence[Message] = sanitised.messages
    feedback = state.get("feedback")
    if not setup.hooks:
        asked = request.asking(conversation, feedback=feedback)
        # What the history says has been seen to.
        return strip_dangling_reasoning(asked) if request.plan.contributions else asked
    view = CallView.of(ctx, feedback=feedback)
    conversation = await prepared(setup.hooks, "on_prepare_messages", conversation, view)
    conversation = check_sendable(conversation, by="on_prepare_messages")
    asked = request.asking(conversation, feedback=feedback)
    sent = await prepared(setup.hooks, "on_prepare_model_messages", asked, view)
    checked = check_sendable(sent, by="on_prepare_model_messages")
    return strip_dangling_reasoning(checked)
