"""Liveness: which fields may still be read after a point, before they are written anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.graph.condition import Condition

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow

__all__ = ["EVERYTHING", "Liveness", "liveness", "route_reads"]

EVERYTHING = "*"
"""Stands for all fields, where a function may read whatever it likes."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """The fields that matter on arrival at each node, and right after its update.

    `EVERYTHING` among them says that some function which tells not what it reads may come.
    """

    before: dict[str, frozenset[str]]
    after: dict[str, frozenset[str]]


def route_reads(route: Route) -> frozenset[str]:
    """The fields that a route looks at, as far as it tells; `EVERYTHING` where a function does not tell."""
    found = set(route.reads or ())
    if isinstance(route.when, Condition):
        found |= route.when.reads()
    elif route.when is not None and route.reads is None:
        found.add(EVERYTHING)
    if route.field is not None:
        found.add(route.field)
    if route.function is not None and route.reads is None:
        found.add(EVERYTHING)
    return frozenset(found)


def liveness(
    workflow: Workflow[Any],
    kept: frozenset[str] = frozenset(),
    asked: Mapping[str, frozenset[str]] | None = None,
) -> Liveness:
    """The liveness of every field at every node, by the usual walk against the edges.

    Args:
        workflow: The workflow.
        kept: Fields that matter at every end.
        asked: Fields that somebody else looks at when a node is visited.
    """
    shape = workflow.shape
    extra = asked or {}
    before = {id: frozenset[str]() for id in shape.nodes}
    after = dict(before)
    into: dict[str, set[str]] = {id: set() for id in shape.nodes}
    for edge in shape.edges:
        into[edge.target].add(edge.source)
    waiting = deque(reversed(list(shape.nodes)))
    queued = set(waiting)
    while waiting:
        id = waiting.popleft()
        queued.discard(id)
        node = shape.nodes[id]
        live_after: set[str] = set()
        # A sub-workflow is given what is there, required or not.
        given = [source for branch in node.branches for source in branch.inputs.values()]
        live = {*node.requires, *given, *extra.get(id, ())}
        for route in node.routes:
            live_after |= route_reads(route)
            if route.kind != "to":
                live_after |= kept
        for edge in shape.out[id]:
            (live_after if edge.kind == "route" else live).update(before[edge.target])
        live |= live_after - _overwritten(workflow, node)
        after[id] = frozenset(live_after)
        if live != before[id]:
            before[id] = frozenset(live)
            for source in into[id] - queued:
                waiting.append(source)
                queued.add(source)
    return Liveness(before, after)


def _overwritten(workflow: Workflow[Any], node: Node) -> set[str]:
    # A field that is joined by a reducer lives on in its new value.
    fields = workflow.schema.fields
    return {name for name in node.provides if name not in fields or fields[name].reducer is None}
