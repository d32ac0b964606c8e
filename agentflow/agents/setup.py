"""The setup of an agentic loop: what its nodes do besides what the graph says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentflow.agents.guardrails import Guardrail
from agentflow.agents.hooks import Hooks
from agentflow.agents.instructions import (
    InstructionContext,
    Instructions,
    InstructionSources,
    Retriever,
    SubAgentNote,
    gather,
    stack,
)
from agentflow.agents.memory.working import reading
from agentflow.agents.middleware import Middleware
from agentflow.agents.prompts import Prompts
from agentflow.agents.step_plan import PrepareStep, StepPlan
from agentflow.agents.stop import StopWhen
from agentflow.messages.message import Message
from agentflow.messages.shortening import current_question
from agentflow.models.transport import structured
from agentflow.tools.repeats import RepeatLimit

if TYPE_CHECKING:
    from agentflow.agents.compression import Compressor
    from agentflow.agents.memory.settings import Memory
    from agentflow.agents.transfer import Transfer
    from agentflow.run.context import NodeContext

__all__ = ["LoopSetup", "setup_in_force"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSetup:
    """What one loop asks with, and who has a say in it.

    Args:
        instructions: What the model is told before the conversation.
        markdown: Whether answers are wanted in Markdown.
        retriever: Finds what belongs to the question, for each attempt.
        prompts: The application's texts, for functions of instructions.
        headers: The headers of the request that the call answers, for the same.
        sub_agents: The agents that tasks can be handed to, as the model is told of them.
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
        memory: What is remembered from call to call.
        handoffs: By which tools the conversation can be handed to another agent.
        compressor: Makes the conversation shorter that the model is told.
        compress_above_chars: How long it may be before that.
    """

    instructions: Instructions | None = None
    markdown: bool = False
    retriever: Retriever | None = None
    prompts: Prompts = field(default_factory=Prompts)
    headers: Mapping[str, str] = field(default_factory=dict)
    sub_agents: tuple[SubAgentNote, ...] = ()
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
    memory: Memory | None = None
    handoffs: Mapping[str, Transfer] = field(default_factory=dict)
    compressor: Compressor | None = None
    compress_above_chars: int = 20_000
    _fixed: dict[tuple[str, ...], tuple[Message, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def rewrites_output(self) -> bool:
        """Whether middleware may still make another answer of that of the loop."""
        return any(one.output is not None for one in self.middlewares)

    async def told(self, ctx: NodeContext, messages: Sequence[Message]) -> tuple[Message, ...]:
        """What the model is told before the conversation, gathered from all sources.

        Args:
            ctx: The visit.
            messages: The conversation, of which the current question is what a retriever is asked.

        Raises:
            ContractError: A source gave something that is no text.
            Exception: What a source raised, with a note that names it.
        """
        toolkits = ctx.tools.instructions
        if callable(self.instructions) or self.retriever is not None or self.memory is not None:
            return await self._gathered(ctx, messages, toolkits)
        # Nobody is asked, so every call is told the same, and what is remembered of these messages lasts.
        told = self._fixed.get(toolkits)
        if told is None:
            told = self._fixed[toolkits] = await self._gathered(ctx, messages, toolkits)
        return told

    async def _gathered(
        self, ctx: NodeContext, messages: Sequence[Message], toolkits: tuple[str, ...]
    ) -> tuple[Message, ...]:
        sources = InstructionSources(
            base=self.instructions,
            toolkits=toolkits,
            markdown=self.markdown,
            retriever=self.retriever,
            working_memory=reading(self.memory, ctx),
            sub_agents=self.sub_agents,
        )
        question = current_question(messages)
        context = InstructionContext(
            context=ctx.context,
            identity=ctx.identity,
            headers=self.headers,
            prompts=self.prompts,
            query="" if question is None else question.text,
        )
        return stack(await gather(sources, context))


def setup_in_force(own: LoopSetup, ctx: NodeContext) -> LoopSetup:
    """The setup that holds in a run: the loop's own, unless the engine of the run was made for a call that says more."""
    asked: Callable[[LoopSetup], LoopSetup] | None = getattr(ctx.run.engine, "setup_for", None)
    return own if asked is None else asked(own)
