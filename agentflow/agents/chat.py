"""One model call of an agent, as a workflow: `admit -> assemble -> model -> deliver`, made of the loop's nodes, and no loop.

The tools are offered, and what the model calls is handed to whoever asks; nothing is carried out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.deciding import end_step, result_of
from agentflow.agents.loop import asked
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import LoopState, steps_so_far
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.agents.trunk import opened
from agentflow.graph.limits import Uses
from agentflow.graph.node import node
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.run.context import NodeContext
    from agentflow.run.run import Run

__all__ = ["chat_of", "chatting"]


def chat_of(
    id: str, setup: LoopSetup, *, sends: int = 1, compressing: Uses | None = None
) -> Workflow[LoopResult]:
    """The workflow of one model call.

    Args:
        id: Its id.
        setup: What it asks with.
        sends: How often the model request may be sent.
        compressing: What whoever makes the conversation shorter may spend, if anybody does.
    """
    *before, model = asked(setup, sends, compressing)
    return define_workflow(
        id,
        nodes=[
            *before,
            replace(model, routes=(route.to("deliver"),)),
            node(
                _Delivering(setup).deliver,
                requires=["messages", "steps", "given"],
                provides=["result"],
                uses=Uses(),
                routes=[route.deliver("result")],
            ),
        ],
        state=LoopState,
        inputs=["messages"],
        optional_inputs=["feedback"],
        entry="admit",
        max_rounds=1,
        result=LoopResult,
        description="Ask a model, once.",
    )


class _Delivering:
    """The body of `deliver`."""

    __slots__ = ("_setup",)

    def __init__(self, setup: LoopSetup) -> None:
        self._setup = setup

    async def deliver(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """End with what the model has said: an answer, or tool calls for others to make."""
        setup = setup_in_force(self._setup, ctx)
        (step,) = steps_so_far(state)
        await end_step(setup, ctx, step, state["messages"])
        if step.tool_calls:
            # The model would go on, and there is no step left for it.
            return {"result": result_of(state, "max_steps")}
        value = None if setup.output is None else setup.output.parse(step.messages[0])
        return {"result": result_of(state, "stop", object=value)}


@asynccontextmanager
async def chatting(
    agent: Agent, input: Any, options: Mapping[str, Any]
) -> AsyncIterator[Run[LoopResult]]:
    """The run of a chat, as `Agent.chat` gives it; what it was made with is given back when the block is left."""
    profile = replace(agent.profile, chats=True)
    call = await opened(agent, input, options, profile=profile)
    await call.begin()
    try:
        yield call.run
    finally:
        await call.leave()
