"""Transfers: tools by which an agent hands the conversation over to another one, which answers from there on.

The tool only says so. The loop hands over when all other calls of the answer have their results, at a node of its own, so that
everybody can see where it happens and what it may cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.compression import Compressor, uses_of
from agentflow.agents.delegation import SubAgentFailed
from agentflow.agents.sendable import check_sendable
from agentflow.graph.limits import Uses
from agentflow.messages.message import Message
from agentflow.tools.context import ToolContext
from agentflow.tools.tool import Tool, tool

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.memory.settings import Memory
    from agentflow.agents.options import Profile
    from agentflow.agents.setup import LoopSetup
    from agentflow.messages.part import ToolCall
    from agentflow.run.context import NodeContext

__all__ = ["Transfer", "transfer_to"]


class Transfer:
    """The handler of a tool that hands the conversation over.

    Args:
        agent: Who takes over.
        carry: Makes of the conversation what is carried over; default: all of it.
    """

    def __init__(self, agent: Agent, carry: Compressor | None) -> None:
        self.agent = agent
        self._carry = carry

    async def __call__(self, ctx: ToolContext, reason: str = "") -> str:  # noqa: ARG002
        """Hand this conversation over to another agent, which answers from here on.

        Args:
            ctx: The call.
            reason: Why, in a few words.
        """
        # The reason is told to the hooks, and stays in the conversation for whoever takes over.
        setup: LoopSetup | None = getattr(ctx.node.run.engine, "setup", None)
        proposed = _proposed(ctx.node)
        known = {} if setup is None else setup.handoffs
        first = next((call for call in proposed if call.name in known), None)
        if first is None or ctx.call_id not in {call.id for call in proposed}:
            raise SubAgentFailed(
                f"a conversation is handed over only by the model of an agent that has {ctx.tool_id!r} among its handoffs"
            )
        if first.id != ctx.call_id:
            raise SubAgentFailed(
                f"a conversation can be handed to one agent only, and {first.name!r} was called before; this call did nothing"
            )
        return f"{self.agent.name} goes on with this conversation."

    @property
    def model_calls(self) -> int | None:
        """How many model calls it takes at most, as it is proved of whoever takes over; `None` for any number."""
        uses = uses_of(self._carry) or Uses()
        below = self.agent.workflow.bounds().model_calls.value
        return None if below is None or uses.model_calls is None else below + uses.model_calls

    async def carried(self, conversation: Sequence[Message], ctx: NodeContext) -> Sequence[Message]:
        """What is carried over of a conversation.

        Raises:
            ContractError: It is no conversation that could be sent.
        """
        if self._carry is None:
            return conversation
        given = await self._carry(conversation, ctx)
        return check_sendable(list(given), by=f"carry of the hand-off to {self.agent.name!r}")

    def profile_in(self, setup: LoopSetup, *, streams: Any) -> Profile:
        """What holds for whoever takes over: its own profile, but for what is the call's.

        The call's is the memory, so that nothing is kept twice, and the structured output, if one is wanted.

        Args:
            setup: The setup in force of the loop that hands over.
            streams: Where the answer goes while it is made; `None` if it goes nowhere.
        """
        profile = self.agent.profile
        if profile.memory is not None:
            profile = replace(profile, memory=_told_only(profile.memory))
        if setup.output is not None:
            # In a stream there are no corrections: what was handed out cannot be taken back.
            return replace(profile, output=setup.output, streams=not setup.corrections)
        if profile.output is not None and streams is not None:
            return replace(profile, streams=True)
        return profile

    def __repr__(self) -> str:
        return repr(self.agent)


def transfer_to(agent: Agent, *, id: str | None, description: str | None, carry: Any) -> Tool:
    """The tool that `Agent.as_handoff` makes; takes and raises what that does."""
    if carry is not None and not callable(carry):
        raise TypeError(
            f"carry={carry!r}: give an async function of the messages and the context, such as Trim() or Summarise()"
        )
    to = f"Hand the conversation over to {agent.name}, who answers from there on."
    told = description or f"{to} {agent.description}".rstrip()
    return tool(Transfer(agent, carry), id=id or f"transfer_to_{agent.id}", description=told)


def _proposed(node: NodeContext) -> tuple[ToolCall, ...]:
    """The tool calls of the answer that a visit carries out, in an agent's loop; none elsewhere."""
    state: Any = node.frame.state
    if "handing" not in node.frame.plan.schema.fields or not state.get("steps"):
        return ()
    answer: Message = state["messages"][state["steps"][-1].at]
    return answer.tool_calls


def _told_only(memory: Memory) -> Memory | None:
    """A memory of which only what is known of the resource is told; no conversation is read, and nothing is written."""
    if memory.working is None:
        return None
    return replace(memory, turns=0, recall=None, save="never")
