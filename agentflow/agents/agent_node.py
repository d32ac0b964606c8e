"""An agent as a node of any workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentflow.agents.delegation import check_share, run_below
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.graph.limits import Budget
    from agentflow.run.context import NodeContext

__all__ = ["node_of"]


def node_of(
    agent: Agent,
    id: str | None,
    *,
    input: str,
    output: str,
    budget: Budget | None,
    options: Mapping[str, Any],
) -> Node:
    """The node that `Agent.as_node` makes; takes and raises what that does."""
    check_share(budget)

    async def ask(state: Any, ctx: NodeContext) -> dict[str, Any]:
        result = await run_below(ctx, agent, state[input], name=agent.name, budget=budget)
        return {output: result.text if result.object is None else result.object}

    calls = agent.workflow.bounds().model_calls.value
    given = {
        "uses": Uses(model_calls=calls, tool_calls=None),
        "description": agent.description or f"Ask {agent.name}.",
        **options,
    }
    requires = [input, *given.pop("requires", ())]
    return node(ask, id=id or agent.id, requires=requires, provides=[output], **given)
