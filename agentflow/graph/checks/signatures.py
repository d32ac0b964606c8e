"""Signatures: what a function says of its state and its update agrees with the schema and with what its node declares."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args, get_origin

from agentflow.graph.annotated import bare, returned_type, state_type
from agentflow.graph.calling import function_name
from agentflow.graph.condition import Condition
from agentflow.graph.declared import Declared, declared_fields
from agentflow.graph.findings import Finding
from agentflow.graph.fit import reading, relation, spelled, taken
from agentflow.graph.kinds import MapEach
from agentflow.graph.node import Node
from agentflow.graph.place import Place
from agentflow.graph.proof.domain import members
from agentflow.graph.typeddict import is_typeddict, presence
from agentflow.graph.workflow import Workflow


def views(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Whoever reads the state as a class of their own finds its fields there, of these types."""
    if not workflow.schema.fields:
        return
    for node, function, place in _readers(workflow):
        view = bare(state_type(function))
        for item in () if view is workflow.state else _fields_of(view):
            problem = _view_problem(workflow, view, item)
            if problem:
                message, hint = problem
                yield Finding(
                    code="AF601",
                    message=f"node {node.id!r}: {function_name(function)} reads the state as "
                    f"{spelled(view)}, where {message}",
                    hint=hint,
                    workflow=workflow.id,
                    node=node.id,
                    place=place,
                )


def updates(workflow: Workflow[Any]) -> Iterator[Finding]:
    """What a node's function says it returns is an update, of the fields that the node declares."""
    for node in workflow.nodes:
        if node.run is None:
            continue
        returned = bare(returned_type(node.run))
        for message, hint in _update_problems(workflow, node, returned):
            yield Finding(
                code="AF601",
                message=f"node {node.id!r} returns {spelled(returned)}{message}",
                hint=hint,
                workflow=workflow.id,
                node=node.id,
                place=node.place,
            )


def _readers(workflow: Workflow[Any]) -> Iterator[tuple[Node, Callable[..., Any], Place | None]]:
    """Every function that is given the state."""
    for node in workflow.nodes:
        if node.run is not None:
            yield node, node.run, node.place
        if isinstance(node.kind, MapEach) and callable(node.kind.over):
            yield node, node.kind.over, node.place
        for route in node.routes:
            for function in (route.when, route.function):
                if callable(function) and not isinstance(function, Condition):
                    inner = function.run if isinstance(function, Node) else function
                    if inner is not None:
                        yield node, inner, route.place or node.place


def _fields_of(view: Any) -> list[Declared]:
    """The fields of a class that can stand for a state; none of anything else."""
    try:
        return declared_fields(view)
    except Exception:
        # It is no class with fields, or its hints cannot be resolved; then it says nothing.
        return []


def _view_problem(workflow: Workflow[Any], view: Any, item: Declared) -> tuple[str, str] | None:
    schema, fields = spelled(workflow.state), workflow.schema.fields
    if item.name not in fields:
        close = difflib.get_close_matches(item.name, fields, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"add {item.name!r} to {schema}"
        return f"there is a field {item.name!r}; {schema} has none", hint
    holds = fields[item.name].annotation
    if reading(holds, item.hint) != "never fits":
        return None
    return (
        f"{item.name!r} is {spelled(item.hint)}; in {schema} it is {spelled(holds)}",
        f"give {item.name!r} one type, in {schema} or in {spelled(view)}",
    )


def _update_problems(
    workflow: Workflow[Any], node: Node, returned: Any
) -> Iterator[tuple[str, str]]:
    if reading(returned, Mapping[str, Any] | None) == "never fits":
        yield (
            ", which is no update",
            "a node returns a mapping of the fields it changes, or None",
        )
        return
    for part in members(returned):
        if part is workflow.state:
            # Often said for short of what is really a part of the state.
            continue
        if is_typeddict(part):
            yield from _record_problems(workflow, node, part)
        elif get_origin(part) in (dict, Mapping) and len(get_args(part)) == 2:
            held = get_args(part)[1]
            for name in node.provides:
                yield from _type_problem(workflow, name, held)


def _record_problems(workflow: Workflow[Any], node: Node, part: Any) -> Iterator[tuple[str, str]]:
    try:
        fields = presence(part)
    except Exception:
        # Its hints cannot be resolved, so it says nothing.
        return
    for name, hint, required in fields:
        if name in node.may_write:
            yield from _type_problem(workflow, name, hint)
        elif required or (workflow.schema.fields and name not in workflow.schema.fields):
            close = difflib.get_close_matches(name, node.may_write, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"add {name!r} to provides"
            yield f", where there is {name!r}, which the node does not declare", meant
    for name in node.provides:
        if name not in {field for field, _, _ in fields}:
            yield (
                f", where there is no {name!r}, which the node provides",
                f"add {name!r} to {spelled(part)}, or take it out of provides",
            )


def _type_problem(workflow: Workflow[Any], name: str, hint: Any) -> Iterator[tuple[str, str]]:
    spec = workflow.schema.fields.get(name)
    if spec is None:
        return
    wanted = spec.delta.annotation
    if relation(hint, taken(workflow.schema, name, wanted)) == "never fits":
        yield (
            f", where {name!r} is {spelled(hint)}; {spelled(workflow.state)} takes {spelled(wanted)}",
            f"return what {name!r} takes, or change its type",
        )


CHECKS = (views, updates)
