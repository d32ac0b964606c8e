"""Rounds: every cycle passes a boundary that counts, and says how often it may turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentflow.graph.findings import Finding
from agentflow.graph.workflow import Workflow


def boundaries(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every cycle of routes passes a node that starts a round.

    Cycles through `on_error` need none: an error node is entered at most once between two round openings.
    """
    for cycle in workflow.shape.unbounded_cycles:
        yield Finding(
            code="AF113",
            message=f"nothing counts the turns of the cycle {' -> '.join(cycle)}",
            hint=f"put starts_round=True on the node where a new round begins, perhaps {cycle[0]!r}",
            workflow=workflow.id,
            node=cycle[0],
            place=workflow.shape.nodes[cycle[0]].place,
            path=cycle,
        )


def stated(workflow: Workflow[Any]) -> Iterator[Finding]:
    """A workflow with a loop states `max_rounds`."""
    parts = workflow.shape.cyclic_parts
    if parts and workflow.max_rounds is None:
        ids = ", ".join(map(repr, parts[0]))
        yield Finding(
            code="AF114",
            message=f"workflow {workflow.id!r} has a loop ({ids}) but does not state max_rounds",
            hint="add max_rounds=…: how many rounds a run may take at most, the first included",
            workflow=workflow.id,
            place=workflow.place,
        )


CHECKS = (boundaries, stated)
