"""The setup of an agentic loop: what its nodes do besides what the graph says."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentflow.agents.guardrails import Guardrail
from agentflow.agents.hooks import Hooks
from agentflow.agents.middleware import Middleware
from agentflow.agents.step_plan import PrepareStep, StepPlan
from agentflow.agents.stop import StopWhen
from agentflow.errors import ContractError
from agentflow.messages.message import Message, system
from agentflow.models.transport import structured
from agentflow.tools.repeats import RepeatLimit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Instructions", "LoopSetup", "setup_in_force"]

Instructions = str | Callable[["NodeContext"], "str | Awaitable[str | None] | None"]
"""What the model is told before the conversation: a text, or a function of the visit's context, plain or async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSetup:
    """What one loop asks with, and who has a say in it.

    Args:
        instructions: What the model is told before the conversation.
        plan: What every step asks with.
        prepare_step: Says what one step asks with.
        stop_when: Any of them ends the loop.
        output: The structured output that is asked for.
        corrections: How often an answer that is not valid goes back to the model, each time as a further step.
        repeat_limit: How often the model may make the same tool call.
        middlewares: Who rewrites what passes, in their order.
        guardrails: Who judges what passes, in their order.
        hooks: Who is told.
        retries: How many further attempts middleware may ask for.
    """

    instructions: Instructions | None = None
    plan: StepPlan = field(default_factory=StepPlan)
    prepare_step: PrepareStep | None = None
    stop_when: tuple[StopWhen, ...] = ()
    output: structured | None = None
    corrections: int = 0
    repeat_limit: RepeatLimit | None = None
    middlewares: tuple[Middleware, ...] = ()
    guardrails: tuple[Guardrail, ...] = ()
    hooks: tuple[Hooks, ...] = ()
    retries: int = 0

    async def told(self, ctx: NodeContext) -> tuple[Message, ...]:
        """The instructions, and then what the toolkits say.

        Raises:
            ContractError: The function of the instructions gave something that is no text.
        """
        own: Any = self.instructions
        if callable(own):
            own = own(ctx)
            if inspect.isawaitable(own):
                own = await own
        if not isinstance(own, str | None):
            raise ContractError(f"the instructions gave {type(own).__name__}; they are a text")
        texts = (*(() if not own else (own,)), *ctx.tools.instructions)
        return tuple(system(text) for text in texts)


def setup_in_force(own: LoopSetup, ctx: NodeContext) -> LoopSetup:
    """The setup that holds in a run: the loop's own, unless the engine of the run was made for a call that says more."""
    asked: Callable[[LoopSetup], LoopSetup] | None = getattr(ctx.run.engine, "setup_for", None)
    return own if asked is None else asked(own)
