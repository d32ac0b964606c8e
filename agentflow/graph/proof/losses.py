"""Losses: which nodes may suspend a run, so that it goes on in another process, without its private fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.calling import names_in, takes_context

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.workflow import Workflow

__all__ = ["losses", "may_suspend"]

_SUSPENDING: Final = frozenset({"suspend", "wait", "wait_until"})
"""The calls of a node context that may suspend the run; `ask` and `wait` make nodes whose functions make them."""


def losses(workflow: Workflow[Any]) -> Mapping[str, frozenset[str]]:
    """The fields that a run may have lost when it visits a node, by node: the visit is made again when the run goes on."""
    private = workflow.schema.private()
    if not private:
        return {}
    return {id: private for id, node in workflow.shape.nodes.items() if may_suspend(node)}


def may_suspend(node: Node) -> bool:
    """Whether a visit may suspend the run, as far as the definition tells: not by a tool that needs approval."""
    if node.kind is not None:
        return any(may_suspend(inner) for one in node.branches for inner in one.workflow.nodes)
    if not callable(node.run) or not takes_context(node.run):
        return False
    return not names_in(node.run).isdisjoint(_SUSPENDING)
