"""Fields: whatever is named is a field of the state's schema."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from agentflow.graph.condition import Condition
from agentflow.graph.findings import Finding
from agentflow.graph.kinds import RESULT, Branch, place_of
from agentflow.graph.node import Node
from agentflow.graph.place import Place
from agentflow.graph.workflow import Workflow


def known(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every field that a typed workflow names is in its schema."""
    if not workflow.schema.typed or any(
        problem.field is None for problem in workflow.schema.problems
    ):
        return
    for what, name, node, place in _named(workflow):
        if name not in workflow.schema.fields:
            close = difflib.get_close_matches(name, workflow.schema.fields, n=1)
            schema = getattr(workflow.state, "__name__", "the state schema")
            yield Finding(
                code="AF120",
                message=f"{what} names the field {name!r}, which {schema} does not have",
                hint=f"did you mean {close[0]!r}?" if close else f"add {name!r} to {schema}",
                workflow=workflow.id,
                node=node.id if node else None,
                place=place,
            )


def mappings(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Sub-workflows are given their inputs, and nothing else; their outputs exist."""
    for node in workflow.nodes:
        if node.slips:
            continue
        for branch in node.branches:
            for problem, hint in _mapping_problems(branch):
                yield Finding(
                    code="AF122",
                    message=f"{place_of(node, branch)}: {problem}",
                    hint=hint,
                    workflow=workflow.id,
                    node=node.id,
                    place=node.place,
                )


def _mapping_problems(branch: Branch) -> Iterator[tuple[str, str]]:
    child = branch.workflow
    if not child.report.ok:
        yield f"the sub-workflow {child.id!r} has errors of its own", "mend it first"
    for name in child.inputs:
        if name not in branch.given:
            yield (
                f"the sub-workflow {child.id!r} needs the input {name!r}, and inputs do not map it",
                f"add it: inputs={{{name!r}: '…'}}",
            )
    if not child.open_inputs:
        for name in branch.given:
            if name not in child.inputs and name not in child.optional_inputs:
                item = name == branch.item
                yield (
                    f"{'the item ' if item else ''}{name!r} is no input of the sub-workflow {child.id!r}",
                    "name an input of it: item='…'" if item else "take it out of inputs",
                )
    written = {name for inner in child.nodes for name in inner.may_write}
    for target, source in branch.outputs.items():
        if source != RESULT and source not in child.schema.fields and source not in written:
            yield (
                f"the output {target!r} takes {source!r}, which is no field of the sub-workflow {child.id!r}",
                f"take {RESULT!r} for what it delivers, or one of its fields",
            )


def _named(workflow: Workflow[Any]) -> Iterator[tuple[str, str, Node | None, Place | None]]:
    for what, names in (("inputs", workflow.inputs), ("optional_inputs", workflow.optional_inputs)):
        for name in names:
            yield what, name, None, workflow.place
    for node in workflow.nodes:
        for what, name in _of_node(node):
            yield what, name, node, node.place
        for route in node.routes:
            read = set(route.reads or ())
            if isinstance(route.when, Condition):
                read |= route.when.reads()
            if route.field:
                read.add(route.field)
            for name in sorted(read):
                yield (
                    f"a route of node {node.id!r} ({route})",
                    name,
                    node,
                    route.place or node.place,
                )


def _of_node(node: Node) -> Iterator[tuple[str, str]]:
    for what in ("requires", "provides", "may_provide"):
        for name in getattr(node, what):
            yield f"{what} of node {node.id!r}", name
    for branch in node.branches:
        for name in branch.inputs.values():
            # What it requires was named already; this is for optional inputs.
            if name not in node.requires:
                yield f"inputs= of {place_of(node, branch)}", name


CHECKS = (known, mappings)
