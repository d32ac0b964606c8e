"""How a path is told: the nodes in order, and for each step why it can be taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentflow.graph.condition import Condition
from agentflow.graph.proof.box import Frozen, Picture, tests_of

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.proof.points import Place, Step

__all__ = ["details", "nodes_on", "situation"]


def nodes_on(walk: Walk, place: Place) -> tuple[str, ...]:
    """The ids of the nodes on a shortest path to a point."""
    return tuple(point.node for (point, _), _ in walk.path(place))


def details(walk: Walk, place: Place) -> tuple[str, ...]:
    """A line for each step of a shortest path that needs a reason: a condition, a failure, the end of rounds."""
    lines = []
    for (point, round), step in walk.path(place):
        if step is None:
            continue
        text = _reason(walk, walk.nodes[point.node], step)
        if step.opens:
            text = f"{text}, round {round + 1} begins" if text else f"round {round + 1} begins"
        if text:
            lines.append(f"{point.node}: {text}")
    return tuple(lines)


def _reason(walk: Walk, node: Node, step: Step) -> str:
    assert step.target is not None
    match step.kind:
        case "error":
            return f"fails, and its error node is {step.target.node!r}"
        case "limit":
            return f"rounds are out, and on_limit is {step.target.node!r}"
    if len(node.routes) == 1:
        return ""
    said = situation(walk.picture, node, step.box)
    way = f"routes to {step.target.node!r}"
    if step.route is not None and step.route.when is not None:
        if not isinstance(step.route.when, Condition):
            return f"{way} if {step.route.condition_text()} says so"
        return f"{way} when {step.route.condition_text()}" + (f" ({said})" if said else "")
    return f"{way}, as no route before matches" + (f" ({said})" if said else "")


def situation(picture: Picture, node: Node, box: Frozen) -> str:
    """What a box says of the fields that the conditions of a node look at."""
    return picture.describe(dict(box), _asked(node))


def _asked(node: Node) -> Iterable[str]:
    for route in node.routes:
        if isinstance(route.when, Condition):
            for test in tests_of(route.when):
                yield ".".join(test.path)
