"""Items: what a `map_each` goes through is a list of what its workflow takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentflow.graph.annotated import returned_type
from agentflow.graph.calling import function_name, takes
from agentflow.graph.findings import Finding
from agentflow.graph.fit import relation, spelled, taken
from agentflow.graph.fit.items import items_in
from agentflow.graph.kinds import MapEach
from agentflow.graph.proof.story import details, nodes_on

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.workflow import Workflow


def sources(workflow: Workflow[Any]) -> Iterator[Finding]:
    """A function that gives the items can be called with the state."""
    for node, kind in _maps(workflow):
        if isinstance(kind.over, str):
            continue
        if not takes(kind.over, 1):
            name = function_name(kind.over)
            yield _at(
                workflow,
                node,
                "AF117",
                f"node {node.id!r}: the function over={name} cannot be called with the state alone",
                "make it a function of one argument, the state; it may be async, and it may yield the items",
            )


def lists(workflow: Workflow[Any]) -> Iterator[Finding]:
    """What is gone through can be a list of items."""
    for node, kind in _maps(workflow):
        given = _type_of(workflow, kind)
        if items_in(given).never:
            what, hint = _source(kind), "give a list"
            yield _at(
                workflow,
                node,
                "AF606",
                f"node {node.id!r} goes through {what}, which is {spelled(given)} and no list of items",
                f"{hint}, as in list(…) or sorted(…) of it, or go through something else",
            )


def taken_items(workflow: Workflow[Any]) -> Iterator[Finding]:
    """The workflow takes the items."""
    for node, kind in _maps(workflow):
        child, name = kind.branch.workflow, kind.branch.item
        spec = child.schema.fields.get(name or "")
        told = items_in(_type_of(workflow, kind))
        if spec is None or told.open or not told.found:
            continue
        wanted = taken(child.schema, spec.name, spec.value.annotation)
        if all(relation(item, wanted) == "never fits" for item in told.found):
            kinds = " or ".join(dict.fromkeys(map(spelled, told.found)))
            yield _at(
                workflow,
                node,
                "AF605",
                f"node {node.id!r}: the input {name!r} of {child.id!r} is {spelled(wanted)}, "
                f"and the items of {_source(kind)} are {kinds}",
                f"go through items that {name!r} takes, or change its type",
            )


def present(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """On no path is there `None` where the items are wanted."""
    walk = walk.calm
    told: set[str] = set()
    for place in walk.came:
        node = walk.nodes[place[0].node]
        kind = node.kind
        if not isinstance(kind, MapEach) or not isinstance(kind.over, str) or node.id in told:
            continue
        if dict(place[0].box).get(kind.over, 0) & walk.picture.domain(kind.over).none:
            told.add(node.id)
            yield Finding(
                code="AF606",
                message=f"node {node.id!r} goes through {kind.over!r}, which may be None, and None is no list of items",
                hint=f"ask field({kind.over!r}).is_none() before, or have an empty list provided",
                workflow=workflow.id,
                node=node.id,
                place=node.place,
                path=nodes_on(walk, place),
                details=details(walk, place),
            )


def _maps(workflow: Workflow[Any]) -> Iterator[tuple[Node, MapEach]]:
    for node in workflow.nodes:
        if isinstance(node.kind, MapEach) and not node.slips:
            yield node, node.kind


def _type_of(workflow: Workflow[Any], kind: MapEach) -> Any:
    if isinstance(kind.over, str):
        spec = workflow.schema.fields.get(kind.over)
        return Any if spec is None else spec.annotation
    return returned_type(kind.over)


def _source(kind: MapEach) -> str:
    return (
        repr(kind.over) if isinstance(kind.over, str) else f"what {function_name(kind.over)} gives"
    )


def _at(workflow: Workflow[Any], node: Node, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, message=message, hint=hint, workflow=workflow.id, node=node.id, place=node.place
    )


CHECKS = (sources, lists)
CLAIMS = (taken_items,)
PROOFS = (present,)
