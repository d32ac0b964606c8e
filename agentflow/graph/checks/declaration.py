"""Is what was declared readable: ids, slips, limits, the schema and the result contract."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from agentflow.graph.declared import unrun_methods
from agentflow.graph.excerpt import excerpt
from agentflow.graph.findings import Finding
from agentflow.graph.limits import Retry, Uses
from agentflow.graph.node import Node
from agentflow.graph.slips import ID_RULE, is_id
from agentflow.graph.workflow import Workflow


def ids(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Ids of the workflow and its nodes are well formed and unique."""
    if not is_id(workflow.id):
        yield Finding(
            code="AF101",
            message=f"the workflow's id {workflow.id!r} is malformed",
            hint=f"use {ID_RULE}",
            workflow=workflow.id,
            place=workflow.place,
        )
    first: dict[str, Node] = {}
    for node in workflow.nodes:
        if not is_id(node.id):
            hint = f"use {ID_RULE}"
            if node.id == "<lambda>":
                hint = "a lambda has no name of its own: give the node an id"
            yield _at(workflow, node, "AF101", f"the node id {node.id!r} is malformed", hint)
        elif node.id in first:
            where = f" (the first is at {first[node.id].place})" if first[node.id].place else ""
            message = f"two nodes have the id {node.id!r}{where}"
            yield _at(workflow, node, "AF102", message, "give one of them another id")
        else:
            first[node.id] = node


def slips(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every declaration could be read as what it should be."""
    for slip in workflow.slips:
        yield Finding(
            code="AF103",
            message=f"workflow {workflow.id!r}: {slip}",
            hint="see the parameters of define_workflow",
            workflow=workflow.id,
            place=workflow.place,
        )
    for node in workflow.nodes:
        for slip in node.slips:
            yield _at(
                workflow, node, "AF103", f"node {node.id!r}: {slip}", "see the parameters of node"
            )
        for route in node.routes:
            for slip in route.slips:
                yield Finding(
                    code="AF103",
                    message=f"node {node.id!r}: a route's {slip}",
                    hint="see the parameters of route.to, route.deliver and their kin",
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )
        for name in _twice((*node.provides, *node.may_provide)):
            message = (
                f"node {node.id!r} declares the field {name!r} twice among provides and may_provide"
            )
            yield _at(
                workflow,
                node,
                "AF103",
                message,
                "keep one: provides for always, may_provide for sometimes",
            )
    if not workflow.nodes and not workflow.slips:
        yield Finding(
            code="AF104",
            message=f"workflow {workflow.id!r} has no nodes",
            hint="give at least one node with a route that ends the run",
            workflow=workflow.id,
            place=workflow.place,
        )


def limits(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Numbers can be kept: rounds, timeouts, retries, uses."""
    rounds = workflow.max_rounds
    if rounds is not None and (
        isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1
    ):
        yield Finding(
            code="AF118",
            message=f"max_rounds={excerpt(rounds)} is no whole number of at least 1",
            hint="the entry opens round 1; a loop that may come back twice takes max_rounds=3",
            workflow=workflow.id,
            place=workflow.place,
        )
    for node in workflow.nodes:
        for problem in _limit_problems(node):
            yield _at(workflow, node, "AF118", f"node {node.id!r}: {problem}", "")


def schema(workflow: Workflow[Any]) -> Iterator[Finding]:
    """The state schema and the result contract can be compiled."""
    for problem in workflow.schema.problems:
        name = f"field {problem.field!r} of the state: " if problem.field else "the state schema: "
        yield Finding(
            code="AF119",
            message=name + problem.message,
            hint="use types that pydantic can validate, or a class of your own",
            workflow=workflow.id,
            place=workflow.place,
        )
    if workflow.result is not None:
        problem_of_result = _unusable(workflow.result)
        if problem_of_result:
            yield Finding(
                code="AF121",
                message=f"the result contract {excerpt(workflow.result)} cannot be checked: {problem_of_result}",
                hint="use a type that pydantic can validate",
                workflow=workflow.id,
                place=workflow.place,
            )


def unrun(workflow: Workflow[Any]) -> Iterator[Finding]:
    """The state schema has no methods that wait for an instance of it."""
    name = getattr(workflow.state, "__name__", "the state schema")
    for method in unrun_methods(workflow.state) if workflow.schema.fields else ():
        yield Finding(
            code="AF125",
            message=f"{name}.{method} is never run: a state is checked field by field, and no {name} is made",
            hint="check a field by itself with a field validator, and several together in a node",
            workflow=workflow.id,
            place=workflow.place,
        )


def _unusable(result: Any) -> str:
    from agentflow.graph.contract import reason_of
    from agentflow.graph.plan import result_contract

    try:
        result_contract(result)
    except Exception as error:
        # pydantic raises many kinds for a hint that it cannot turn into a validator.
        return reason_of(error)
    return ""


def _limit_problems(node: Node) -> Iterator[str]:
    timeout = node.timeout
    if timeout is not None and (
        isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not 0 < timeout < math.inf
    ):
        yield f"timeout={excerpt(timeout)} is no number of seconds above 0"
    given: tuple[tuple[str, object, type[Retry | Uses]], ...] = (
        ("retry", node.retry, Retry),
        ("uses", node.uses, Uses),
    )
    for name, value, kind in given:
        if isinstance(value, Retry | Uses) and type(value) is kind:
            yield from value.problems()
        elif value is not None:
            yield f"{name}={excerpt(value)} is no {kind.__name__}"


def _twice(names: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(name for name in names if names.count(name) > 1))


def _at(workflow: Workflow[Any], node: Node, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code,
        message=message,
        hint=hint,
        workflow=workflow.id,
        node=node.id,
        place=node.place,
    )


CHECKS = (ids, slips, limits, schema, unrun)
