"""Private fields: the mark can be kept, nothing records them under another name, and what is lost is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentflow.graph.callers import CallModel, CallTool
from agentflow.graph.findings import Finding
from agentflow.graph.kinds import RESULT, MapEach, place_of
from agentflow.graph.nested_types import nested_types
from agentflow.graph.private import is_marked
from agentflow.graph.proof.domain import ABSENT
from agentflow.graph.proof.story import details, nodes_on
from agentflow.graph.schema import Schema
from agentflow.graph.waiting import Ask

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch
    from agentflow.graph.node import Node
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.proof.points import Lack, Place
    from agentflow.graph.workflow import Workflow


def marks(workflow: Workflow[Any]) -> Iterator[Finding]:
    """The mark stands at a field of the state, where it is kept, and not at a part of one."""
    for spec in workflow.schema.fields.values():
        where = None if spec.private else _marked_inside(spec.annotation)
        if where is not None:
            yield Finding(
                code="AF119",
                message=f"field {spec.name!r} of the state: {where} is marked private, which only a whole field can be",
                hint=f"mark {spec.name!r} itself, or make what is private a field of its own",
                workflow=workflow.id,
                place=workflow.place,
            )


def _marked_inside(hint: Any) -> str | None:
    if is_marked(hint):
        return "a part of its type"
    for kind, members in nested_types([hint]):
        for member in members:
            if is_marked(member.hint):
                return f"{member.name!r} of {getattr(kind, '__name__', kind)}"
    return None


def recorded(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No private field goes where it would be recorded, and none comes from there."""
    for node in workflow.nodes:
        for problem, hint in (*_mapped(workflow, node), *_asked(workflow, node)):
            yield _at(workflow, node, "AF126", problem, hint)
        for route in node.routes:
            if _is_private(workflow, route.field):
                yield Finding(
                    code="AF126",
                    message=f"node {node.id!r} delivers {route.field!r}, which is private, and results are recorded",
                    hint="deliver something else, or take the mark away",
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )


def _mapped(workflow: Workflow[Any], node: Node) -> Iterator[tuple[str, str]]:
    for branch in () if node.slips else node.branches:
        child, where = branch.workflow, place_of(node, branch)
        for target, source in _given(node, branch):
            if _is_private(workflow, source) and not _is_private(child, target):
                yield (
                    f"{where}: the input {target!r} of {child.id!r} takes {source!r}, which is private, and {target!r} is not",
                    f"mark {target!r} in the state of {child.id!r} as well",
                )
        for target, source in branch.outputs.items():
            given = _delivered(child) if source == RESULT else {source}
            open = sorted(name for name in given if not _is_private(child, name))
            if _is_private(workflow, target) and open:
                yield (
                    f"{where}: the output {target!r} is private, and takes {open[0]!r} of {child.id!r}, which is not",
                    f"mark {open[0]!r} in the state of {child.id!r} as well, and map it by its name",
                )
            elif source != RESULT and not open and not _is_private(workflow, target):
                yield (
                    f"{where}: the output {target!r} takes {source!r} of {child.id!r}, which is private, and {target!r} is not",
                    f"mark {target!r} as well",
                )


def _given(node: Node, branch: Branch) -> Iterator[tuple[str, str]]:
    """The fields of a branch that are taken from surrounding ones, each with that one."""
    yield from branch.inputs.items()
    if (
        branch.item is not None
        and isinstance(node.kind, MapEach)
        and isinstance(node.kind.over, str)
    ):
        yield branch.item, node.kind.over


def _asked(workflow: Workflow[Any], node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node.run, Ask) and _is_private(workflow, node.run.answer):
        yield (
            f"node {node.id!r}: the answer goes into {node.run.answer!r}, which is private, and answers are recorded",
            f"ask for something else, and have {node.run.answer!r} supplied with the answer: private={{…}}",
        )


def effects(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No private field is filled by what is recorded before."""
    for node in workflow.nodes:
        if isinstance(node.run, CallModel | CallTool) and _is_private(workflow, node.run.output):
            output = node.run.output
            yield _at(
                workflow,
                node,
                "AF213",
                f"node {node.id!r} puts what its call gives into {output!r}, which is private; the call is recorded",
                "get it without ctx.model and ctx.tools in a function of your own, or accept that it is recorded",
            )
        if isinstance(node.kind, MapEach) and callable(node.kind.over):
            child, item = node.kind.branch.workflow, node.kind.branch.item
            if _is_private(child, item):
                yield _at(
                    workflow,
                    node,
                    "AF213",
                    f"node {node.id!r} puts items into {item!r} of {child.id!r}, which is private; "
                    f"what its function over= gives is recorded",
                    "take the items from a private field, or accept that they are recorded",
                )


def forgotten(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Nothing goes wrong in runs that have lost a private field, if it does not in others."""
    if walk.calm is walk:
        return
    told = {_key(lack, place) for lack, place in walk.calm.lacks}
    for lack, place in walk.lacks:
        key = _key(lack, place)
        if key not in told and lack.kind not in ("raises", "unproved"):
            told.add(key)
            yield _lost(workflow, walk, lack, place)


def _key(lack: Lack, place: Place) -> tuple[str, str, str, int]:
    return lack.kind, place[0].node, lack.name, id(lack.route)


def _lost(workflow: Workflow[Any], walk: Walk, lack: Lack, place: Place) -> Finding:
    node = walk.nodes[place[0].node]
    path = nodes_on(walk, place)
    # Above the cap a path may be shown that is not the one: it is still one of these nodes.
    waited = next((id for id in reversed(path) if id in walk.losses), min(walk.losses))
    name = lack.name
    match lack.kind:
        case "requires":
            what = f"requires {name!r}"
        case "deliver":
            what = f"delivers {name!r}"
        case "condition":
            what = f"has the condition {lack.route}, which looks at {name!r}"
        case "uncovered":
            gone = {
                name for name, mask in lack.box if mask & ABSENT and name in walk.losses[waited]
            }
            name = min(gone, default="a private field")
            what = f"has no route that matches without {name!r}"
        case _:
            what = f"has the route {lack.route}, which reads {name!r}"
    return Finding(
        code="AF208",
        message=f"node {node.id!r} {what}: a run that has waited in node {waited!r} has it only if it is supplied again",
        hint=f"provide {name!r} anew after {waited!r}, ask .exists() first, or supply it again with private= and waive this",
        workflow=workflow.id,
        node=node.id,
        place=(lack.route.place if lack.route is not None else None) or node.place,
        path=path,
        details=details(walk, place),
    )


def _delivered(workflow: Workflow[Any]) -> set[str]:
    """The fields that a workflow may deliver; what a function finishes with is no field."""
    routes = [route for node in workflow.nodes for route in node.routes]
    return {route.field for route in routes if route.kind == "deliver" and route.field}


def _is_private(workflow: Workflow[Any], name: str | None) -> bool:
    schema: Schema = workflow.schema
    return name is not None and name in schema.fields and schema.fields[name].private


def _at(workflow: Workflow[Any], node: Node, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, message=message, hint=hint, workflow=workflow.id, node=node.id, place=node.place
    )


CHECKS = (marks,)
CLAIMS = (recorded, effects)
PROOFS = (forgotten,)
