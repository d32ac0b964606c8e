"""The shape of the graph: targets, reachability, ways out, order of routes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from agentflow.graph.condition import Condition
from agentflow.graph.findings import Finding
from agentflow.graph.node import Node
from agentflow.graph.route import Route
from agentflow.graph.shape import shortest_cycle
from agentflow.graph.workflow import Workflow


def targets(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every id that is named somewhere is a node."""
    known = workflow.shape.nodes
    if workflow.nodes and workflow.entry not in known:
        yield _dangling(
            workflow, "AF105", f"the entry {workflow.entry!r} is no node", workflow.entry
        )
    for code, name, id in (
        ("AF107", "on_error", workflow.on_error),
        ("AF108", "on_limit", workflow.on_limit),
    ):
        if id is not None and id not in known:
            yield _dangling(workflow, code, f"{name}={id!r} is no node", id)
    for node in workflow.nodes:
        for route in node.routes:
            if route.kind == "to" and route.target not in known:
                message = f"node {node.id!r} routes to {route.target!r}, which is no node"
                yield Finding(
                    code="AF106",
                    message=message,
                    hint=_nearest(route.target, known),
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )
        if node.on_error is not None and node.on_error not in known:
            yield Finding(
                code="AF107",
                message=f"node {node.id!r} has on_error={node.on_error!r}, which is no node",
                hint=_nearest(node.on_error, known),
                workflow=workflow.id,
                node=node.id,
                place=node.place,
            )


def reachability(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every node can be visited."""
    shape = workflow.shape
    if shape.entry not in shape.nodes:
        return
    reached = _reached(workflow)
    for id, node in shape.nodes.items():
        if id not in reached:
            yield Finding(
                code="AF109",
                message=f"no run can reach node {id!r} from the entry {shape.entry!r}",
                hint=f"route to {id!r} from a node that is reached, or take it out",
                workflow=workflow.id,
                node=id,
                place=node.place,
            )


def ends(workflow: Workflow[Any]) -> Iterator[Finding]:
    """A run can leave every node and every loop, and end."""
    shape = workflow.shape
    if shape.entry not in shape.nodes:
        return
    for id, node in shape.nodes.items():
        if not node.routes and not any(slip.startswith("routes") for slip in node.slips):
            yield Finding(
                code="AF110",
                message=f"node {id!r} has no route: a run that visits it can neither go on nor end",
                hint="add a route, such as route.deliver('…') to end the run with a field",
                workflow=workflow.id,
                node=id,
                place=node.place,
            )
    # What has a flaw of its own may lead to an end when it is mended; it is reported once.
    ways_out = shape.exits | {id for id, node in shape.nodes.items() if _unfinished(workflow, node)}
    if not ways_out & _reached(workflow):
        yield Finding(
            code="AF112",
            message=f"workflow {workflow.id!r} has no way to end: no node that is reached delivers or finishes",
            hint="give a node route.deliver('…') or route.finish(…)",
            workflow=workflow.id,
            place=workflow.place,
        )
    for part in shape.cyclic_parts:
        if not ways_out & shape.reach(part, ("route", "limit")):
            yield Finding(
                code="AF111",
                message=f"the loop of {_listed(part)} has no way out to an end",
                hint="give one of its nodes a route that leaves the loop and comes to an end",
                workflow=workflow.id,
                node=part[0],
                place=shape.nodes[part[0]].place,
                path=_cycle(workflow, part),
            )


def _unfinished(workflow: Workflow[Any], node: Node) -> bool:
    known = workflow.shape.nodes
    return not node.routes or any(
        route.kind == "to" and route.target not in known for route in node.routes
    )


def _cycle(workflow: Workflow[Any], part: tuple[str, ...]) -> tuple[str, ...]:
    return shortest_cycle(part, [edge for edge in workflow.shape.edges if edge.kind == "route"])


def shadowed(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No route stands after one that always matches."""
    for node in workflow.nodes:
        always: Route | None = None
        for route in node.routes:
            if always is None:
                always = None if route.conditional else route
                continue
            yield Finding(
                code="AF115",
                message=f"node {node.id!r}: the route {route} comes after {always}, which always matches",
                hint="put the unconditional route last, or give it a condition",
                workflow=workflow.id,
                node=node.id,
                place=route.place or node.place,
            )


def repeated(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No route of a node stands twice."""
    for node in workflow.nodes:
        before: list[Route] = []
        for route in node.routes:
            if route.conditional and any(same_route(route, other) for other in before):
                yield Finding(
                    code="AF123",
                    message=f"node {node.id!r}: the route {route} stands twice",
                    hint="take the second out, or correct its condition or its target",
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )
            before.append(route)


def same_route(route: Route, other: Route) -> bool:
    """Whether two routes ask the same and lead to the same."""
    if (route.kind, route.target, route.field) != (other.kind, other.target, other.field):
        return False
    if route.function is not other.function:
        return False
    if isinstance(route.when, Condition) and isinstance(other.when, Condition):
        return bool(route.when == other.when)
    return route.when is other.when


def error_loops(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No chain of `on_error` comes back to where it began: the failure of an error node is the caller's."""
    handlers = {
        id: node.on_error
        for id, node in workflow.shape.nodes.items()
        if node.on_error is not None and node.on_error in workflow.shape.nodes
    }
    told: set[str] = set()
    for id in handlers:
        chain = [id]
        while chain[-1] in handlers and handlers[chain[-1]] not in chain:
            chain.append(handlers[chain[-1]])
        back = handlers.get(chain[-1])
        if back != id or told.intersection(chain):
            continue
        told.update(chain)
        path = (*chain, id)
        yield Finding(
            code="AF124",
            message=f"the on_error nodes {' -> '.join(path)} form a loop",
            hint="the failure of an error node goes to the caller: take out the on_error of the last one",
            workflow=workflow.id,
            node=id,
            place=workflow.shape.nodes[id].place,
            path=path,
        )


def _reached(workflow: Workflow[Any]) -> frozenset[str]:
    """The nodes that a run may visit, if a misspelled target is taken for the node that it nearly names.

    One slip of the pen is one finding: without this, everything behind the misspelled route would be unreachable too.
    """
    shape = workflow.shape
    reached = shape.reachable
    while True:
        meant = {name for id in reached for name in _misspelled(workflow, shape.nodes[id])}
        if meant <= reached:
            return reached
        reached = shape.reach(reached | meant, ("route", "error", "limit"))


def _misspelled(workflow: Workflow[Any], node: Node) -> set[str]:
    known = workflow.shape.nodes
    named = {route.target for route in node.routes if route.target is not None}
    named |= {id for id in (node.on_error, workflow.on_error, workflow.on_limit) if id is not None}
    # Asked one by one: taking the known ids from the named ones would look at every node of the workflow each time.
    close = (difflib.get_close_matches(id, known, n=1) for id in named if id not in known)
    return {name for names in close for name in names}


def _dangling(workflow: Workflow[Any], code: str, message: str, id: str) -> Finding:
    return Finding(
        code=code,
        message=f"workflow {workflow.id!r}: {message}",
        hint=_nearest(id, workflow.shape.nodes),
        workflow=workflow.id,
        place=workflow.place,
    )


def _nearest(id: str | None, known: Iterable[str]) -> str:
    names = list(known)
    if not id or id.startswith("<"):
        return "name a node by its id, which is a text"
    close = difflib.get_close_matches(id, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the nodes are {_listed(names)}" if names else "declare the node"


def _listed(ids: Iterable[str], most: int = 8) -> str:
    names = [repr(id) for id in ids]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


CHECKS = (targets, reachability, ends, shadowed, repeated, error_loops)
