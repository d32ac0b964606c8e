"""The node of the loop that makes a long conversation shorter before the model is asked; what is stored stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.agents.compression import shortened
from agentflow.agents.loop_state import LoopState, Shortened, told_conversation
from agentflow.agents.memory.working import INTERNAL
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.graph.route import route
from agentflow.messages.message import chars_of
from agentflow.messages.sanitising import sanitise

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["compressed"]


def compressed(setup: LoopSetup, uses: Uses) -> Node:
    """The node `compress`, which may use what the compressor says it does."""
    return node(
        _Compressing(setup).compress,
        requires=["messages", "step"],
        may_provide=["shortened"],
        uses=uses,
        routes=[route.to("assemble")],
        description="Make the conversation shorter that the model is told, if it is long.",
    )


@dataclass(frozen=True, slots=True)
class _Compressing:
    """The body of `compress`."""

    setup: LoopSetup

    async def compress(self, state: LoopState, ctx: NodeContext) -> dict[str, Any]:
        """Make the conversation shorter, if it is longer than it may be since it was shortened last."""
        setup = setup_in_force(self.setup, ctx)
        if setup.compressor is None:
            return {}
        messages = sanitise(told_conversation(state), internal=INTERNAL).messages
        limit = setup.compress_above_chars
        shorter = await shortened(messages, ctx, setup.compressor, above_chars=limit)
        if chars_of(shorter) >= chars_of(messages):
            return {}
        return {"shortened": Shortened(messages=tuple(shorter), of=len(state["messages"]))}
