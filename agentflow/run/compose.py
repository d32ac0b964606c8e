"""Performs the node kinds that hold workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.errors import AgentflowError, BudgetExceeded, ContractError, RunCancelled
from agentflow.graph.frozen import lend
from agentflow.graph.kinds import RESULT, Kind
from agentflow.run.decide import told
from agentflow.run.effects import emit_limit
from agentflow.run.signal import scope_of

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["perform"]


async def perform(ctx: NodeContext, kind: Kind) -> dict[str, Any]:
    """Run the sub-workflow of a node on a state of its own, and return the update that its outputs make."""
    from agentflow.run.frame import Frame

    parent = ctx.frame
    depth = parent.depth + 1
    allowed = ctx.ledger.allowed("depth")
    if allowed is not None and depth > allowed:
        error = BudgetExceeded("depth", allowed, depth, where=f"node {ctx.node_id!r}")
        emit_limit(ctx, error)
        raise error
    frame = Frame(
        parent.run,
        kind.workflow.plan,
        id=f"{parent.id}/{ctx.node_id}#{ctx.visit}"
        + (f".{ctx.attempt}" if ctx.attempt > 1 else ""),
        above=ctx,
        signal=ctx.signal.derive(),
    )
    state = parent.state
    inputs = {
        target: lend(dict.__getitem__(state, source))
        for target, source in kind.inputs.items()
        if source in state
    }
    value = await _execute(ctx, frame, inputs)
    return {target: _output(ctx, frame, source, value) for target, source in kind.outputs.items()}


async def _execute(ctx: NodeContext, frame: Any, inputs: dict[str, Any]) -> Any:
    """Run the frame; a cancel of its own signal alone is a failure of this node, not the end of the run."""
    with scope_of(frame.signal):
        try:
            return await frame.execute(inputs)
        except RunCancelled:
            if ctx.signal.fired:
                raise
    if ctx.signal.fired:
        raise RunCancelled(ctx.signal.reason)
    workflow, reason = frame.plan.workflow.id, told(frame.signal.reason)
    raise AgentflowError(
        f"the sub-workflow {workflow!r} of node {ctx.node_id!r} was cancelled: {reason}"
    )


def _output(ctx: NodeContext, frame: Any, source: str, value: Any) -> Any:
    if source == RESULT:
        return value
    if source not in frame.state:
        raise ContractError(
            f"node {ctx.node_id!r}: the sub-workflow {frame.plan.workflow.id!r} ended without the field {source!r}"
        )
    return lend(dict.__getitem__(frame.state, source))
