"""The nodes of the loop that ask the model: what is asked is put together, then asked, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.events import ToolCallEvent, tell
from agentflow.agents.loop_state import LoopState, steps_so_far
from agentflow.agents.request import StepRequest
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.agents.step import StepRecord, message_id
from agentflow.agents.step_plan import StepContext, StepPlan, planned
from agentflow.agents.structured_step import StructuredStep
from agentflow.messages.message import Message, tool_result

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

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
        known = state.get("request")
        told = await setup.told(ctx) if known is None else known.told
        plan = setup.plan
        if setup.prepare_step is not None:
            step = StepContext.of(ctx, state["step"], state["messages"], steps_so_far(state))
            plan = (await planned(setup.prepare_step, step)).over(plan)
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
        reply = await ctx.model.invoke(
            request.asking(state["messages"], feedback=state.get("feedback")),
            transport="message" if setup.output is None else StructuredStep(setup.output),
            model=plan.model,
            tools=specs,
            # Without a tool on offer there is nothing to choose.
            tool_choice=plan.tool_choice if specs else None,
            max_output_tokens=plan.max_output_tokens,
            parameters=plan.parameters,
        )
        number = len(state.get("steps", ())) + 1
        said: Message = replace(reply.value, id=message_id(ctx.run_id, number))
        for call in said.tool_calls:
            await tell(ctx, ToolCallEvent(call=call))
        usage: Mapping[str, float] = reply.invocation.usage
        record = StepRecord(
            number=number,
            at=len(state["messages"]),
            model=reply.invocation.name,
            finish_reason=reply.invocation.finish_reason,
            usage=usage,
            offered=tuple(spec.name for spec in specs),
            closing=closing,
        )
        return {"messages": [said], "steps": [record]}
