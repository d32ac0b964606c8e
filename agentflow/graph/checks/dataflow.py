"""Data flow: whatever is read exists, on every path; whatever is provided is read by somebody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentflow.graph.condition import Condition
from agentflow.graph.findings import Finding
from agentflow.graph.kinds import RESULT, place_of, step_of
from agentflow.graph.proof.domain import ABSENT
from agentflow.graph.proof.liveness import EVERYTHING
from agentflow.graph.proof.story import details, nodes_on

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch
    from agentflow.graph.node import Node
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.proof.points import Lack, Place
    from agentflow.graph.workflow import Workflow

_CODES = {
    "requires": "AF201",
    "deliver": "AF203",
    "reads": "AF204",
    "finish": "AF204",
    "condition": "AF205",
}


IN_VAIN = ("AF210", "AF211")
"""What is said of a node whose value nobody reads."""


def assigned(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Every field that is required, delivered or read by a function exists on every path."""
    told: set[tuple[str, str, str, int]] = set()
    walk = walk.calm
    for lack, place in walk.lacks:
        if lack.kind not in _CODES:
            continue
        node = walk.nodes[place[0].node]
        code = _CODES[lack.kind]
        if lack.kind == "requires" and place[0].failed:
            code = "AF202"
        key = code, node.id, lack.name, id(lack.route)
        if key not in told:
            told.add(key)
            yield _missing(workflow, walk, lack, place, code)


def _missing(workflow: Workflow[Any], walk: Walk, lack: Lack, place: Place, code: str) -> Finding:
    node = walk.nodes[place[0].node]
    mask = dict(lack.box).get(lack.name, ABSENT)
    certainty = "is missing" if mask == ABSENT else "may be missing"
    match lack.kind:
        case "requires" if code == "AF202":
            what = f"the error node {node.id!r} requires {lack.name!r}, which {certainty} when the error strikes"
        case "requires":
            what = f"node {node.id!r} requires {lack.name!r}, which {certainty}"
        case "deliver":
            what = f"node {node.id!r} delivers {lack.name!r}, which {certainty}"
        case "condition":
            what = (
                f"node {node.id!r}: the condition {lack.route} looks at {lack.name!r}, which {certainty}; "
                f"then it does not match"
            )
        case _:
            what = (
                f"node {node.id!r}: the route {lack.route} reads {lack.name!r}, which {certainty}"
            )
    route_place = lack.route.place if lack.route is not None else None
    return Finding(
        code=code,
        message=what,
        hint=_hint(workflow, lack, code),
        workflow=workflow.id,
        node=node.id,
        place=route_place or node.place,
        path=nodes_on(walk, place),
        details=details(walk, place),
    )


def _hint(workflow: Workflow[Any], lack: Lack, code: str) -> str:
    name = lack.name
    sometimes = [node.id for node in workflow.nodes if name in node.may_provide]
    always = [node.id for node in workflow.nodes if name in node.provides]
    if lack.kind == "condition":
        return f"ask field({name!r}).exists() first, or have {name!r} provided on every path"
    if code == "AF202":
        return f"a node may fail before it provided anything: do without {name!r}, or have it provided earlier"
    if name in workflow.optional_inputs:
        return (
            f"{name!r} is an optional input: put it into inputs, or give it a default in the schema"
        )
    if sometimes:
        return (
            f"{name!r} is only in may_provide of {_listed(sometimes)}: route on field({name!r}).exists(), "
            f"or provide it always"
        )
    if lack.kind == "deliver" and always:
        return f"use route.deliver_if_ready({name!r}) with a route for the other case, or provide it on this path"
    if always:
        return f"it is provided by {_listed(always)}, but not on this path: provide it here too, or require it later"
    return f"no node provides {name!r}: provide it, or declare it in inputs"


def comparable(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """No condition asks of a value what cannot be asked of it, such as whether `None` is less than 10."""
    told: set[int] = set()
    walk = walk.calm
    for lack, place in walk.lacks:
        route = lack.route
        if lack.kind != "raises" or route is None or id(route) in told:
            continue
        told.add(id(route))
        node = walk.nodes[place[0].node]
        said = walk.picture.describe(dict(lack.box), (lack.name,))
        yield Finding(
            code="AF207",
            message=f"node {node.id!r}: the condition {route} raises when {said}",
            hint="ask whether it is_none() first, or compare only what can be compared",
            workflow=workflow.id,
            node=node.id,
            place=route.place or node.place,
            path=nodes_on(walk, place),
            details=details(walk, place),
        )


def unread(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Every field that is provided is read by somebody, and no value is overwritten unseen; every input is used.

    Silent about a field where a function that does not tell what it reads may come later.
    """
    ever = _read_anywhere(walk)
    if EVERYTHING in ever:
        return
    for node in walk.nodes.values():
        if node.id not in walk.reached:
            continue
        after = walk.live.after[node.id]
        for name in node.provides:
            if name not in ever:
                yield _useless(
                    workflow,
                    node,
                    "AF210",
                    f"node {node.id!r} provides {name!r}, which nothing ever reads",
                    f"take {name!r} out, or name it in the requires of the node that uses it",
                )
            elif name not in after and not _joins(workflow, name):
                yield _useless(
                    workflow,
                    node,
                    "AF211",
                    f"what node {node.id!r} provides in {name!r} is never read: it is not needed again, "
                    f"or written anew before",
                    f"do not provide {name!r} here, or read it before it is written again",
                )
    for name in workflow.inputs:
        if name not in ever:
            yield Finding(
                code="AF212",
                message=f"workflow {workflow.id!r} asks for the input {name!r}, which nothing ever reads",
                hint=f"take {name!r} out of inputs, or name it in the requires of the node that uses it",
                workflow=workflow.id,
                place=workflow.place,
            )


def outputs(workflow: Workflow[Any], _walk: Walk) -> Iterator[Finding]:
    """The fields that a sub-workflow gives back exist at every one of its ends."""
    for node in workflow.nodes:
        for branch in node.branches:
            yield from _branch_outputs(workflow, node, branch)


def _branch_outputs(workflow: Workflow[Any], node: Node, branch: Branch) -> Iterator[Finding]:
    child = branch.workflow
    wanted = {target: source for target, source in branch.outputs.items() if source != RESULT}
    if not wanted or not child.report.ok:
        return
    missing = missing_at_ends(child, frozenset(wanted.values()))
    for target, source in wanted.items():
        if source in missing:
            yield Finding(
                code="AF206",
                message=f"{place_of(node, branch)}: the output {target!r} takes {source!r}, which may be missing "
                f"when the sub-workflow {child.id!r} ends",
                hint=f"take {RESULT!r}, or have {source!r} provided on every path of {child.id!r}",
                workflow=workflow.id,
                node=node.id,
                place=node.place,
                path=tuple(f"{step_of(node, branch)}/{id}" for id in missing[source]),
            )


def missing_at_ends(workflow: Workflow[Any], names: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Which of some fields may be missing when a workflow ends, each with a path on which it is."""
    from agentflow.graph.proof.explore import Walk

    found: dict[str, tuple[str, ...]] = {}
    walk = Walk(workflow, kept=names)
    for step, place in walk.ends:
        box = dict(step.box)
        for name in names:
            if box.get(name, ABSENT) & ABSENT:
                found.setdefault(name, nodes_on(walk, place))
    return found


def _read_anywhere(walk: Walk) -> set[str]:
    from agentflow.graph.proof.liveness import route_reads

    found = set(walk.kept)
    for id in walk.reached:
        node = walk.nodes[id]
        found.update(node.requires)
        for branch in node.branches:
            found.update(branch.inputs.values())
        for route in node.routes:
            found |= route_reads(route)
    for policy in walk.workflow.policies:
        if isinstance(policy.condition, Condition):
            found |= policy.condition.reads()
    return found


def _joins(workflow: Workflow[Any], name: str) -> bool:
    spec = workflow.schema.fields.get(name)
    return spec is not None and spec.reducer is not None


def _useless(workflow: Workflow[Any], node: Node, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, message=message, hint=hint, workflow=workflow.id, node=node.id, place=node.place
    )


def _listed(ids: list[str]) -> str:
    return " and ".join(f"node {id!r}" for id in ids[:2]) + (" and others" if len(ids) > 2 else "")


PROOFS = (assigned, comparable, unread, outputs)
