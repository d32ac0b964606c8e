"""Functions: the engine can call them, and routing stays synchronous."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from agentflow.graph.calling import body_problem, function_name, is_async, takes
from agentflow.graph.condition import OPERATORS, AllOf, AnyOf, Condition, FieldPath, Not, Test
from agentflow.graph.excerpt import excerpt
from agentflow.graph.findings import Finding
from agentflow.graph.node import Node
from agentflow.graph.route import Route
from agentflow.graph.workflow import Workflow


def bodies(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every node's function takes `(state)` or `(state, ctx)`."""
    for node in workflow.nodes:
        problem = None if node.kind is not None else body_problem(node.run)
        if problem:
            yield Finding(
                code="AF117",
                message=f"node {node.id!r}: {problem}",
                hint="a node's function is (state) or (state, ctx), async or plain, and returns a mapping or None",
                workflow=workflow.id,
                node=node.id,
                place=node.place,
            )


def predicates(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Conditions and finish functions are synchronous and take the state."""
    for node in workflow.nodes:
        for route in node.routes:
            if route.when is not None:
                yield from _predicate(workflow, node, route)
            if route.kind == "finish":
                yield from _function(workflow, node, route, route.function, "the finish function")


def _predicate(workflow: Workflow[Any], node: Node, route: Route) -> Iterator[Finding]:
    when: object = route.when
    if isinstance(when, FieldPath):
        message = f"node {node.id!r}: {when!r} is no condition yet"
        hint = "compare it, as in field('x') == 1, or ask .exists()"
        yield _at_route(workflow, node, route, "AF117", message, hint)
    elif isinstance(when, Condition):
        for problem in _condition_problems(when):
            yield _at_route(workflow, node, route, "AF103", f"node {node.id!r}: {problem}", "")
    else:
        yield from _function(workflow, node, route, when, "the condition")


def _function(
    workflow: Workflow[Any], node: Node, route: Route, function: Any, what: str
) -> Iterator[Finding]:
    function = function.run if isinstance(function, Node) and function.run else function
    name = function_name(function)
    if not callable(function):
        message = f"node {node.id!r}: {what} {excerpt(function)} cannot be called"
        yield _at_route(workflow, node, route, "AF117", message, "give a function (state)")
    elif is_async(function):
        message = f"node {node.id!r}: {what} {name} is asynchronous"
        hint = (
            "do the asynchronous work in a node, put what it found into a field, and route on that"
        )
        yield _at_route(workflow, node, route, "AF116", message, hint)
    elif inspect.isgeneratorfunction(function):
        message = f"node {node.id!r}: {what} {name} is a generator; it must return its answer"
        yield _at_route(
            workflow, node, route, "AF117", message, "return the answer, do not yield it"
        )
    elif not takes(function, 1):
        message = f"node {node.id!r}: {what} {name} cannot be called with the state alone"
        yield _at_route(
            workflow, node, route, "AF117", message, "make it a function of one argument, the state"
        )


def _condition_problems(condition: Condition) -> Iterator[str]:
    match condition:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _condition_problems(part)
        case Not(part):
            yield from _condition_problems(part)
        case Test(path, op, value):
            if not all(path) or path[0].startswith("<"):
                yield f"the condition {condition} has a malformed path"
            if op not in OPERATORS:
                yield f"the condition {condition} has the unknown operator {op!r}"
            if op == "is_in" and not isinstance(value, tuple):
                yield f"the condition {condition} wants a list of values, as in field('x').is_in(['a', 'b'])"
            values = value if isinstance(value, tuple) else (value,)
            if any(isinstance(each, FieldPath | Condition) for each in values):
                yield f"the condition {condition} compares two fields; compare a field with a constant"
        case _:
            yield f"{excerpt(condition)} is no condition; start it with field('…')"


def _at_route(
    workflow: Workflow[Any], node: Node, route: Route, code: str, message: str, hint: str
) -> Finding:
    return Finding(
        code=code,
        message=message,
        hint=hint,
        workflow=workflow.id,
        node=node.id,
        place=route.place or node.place,
    )


CHECKS = (bodies, predicates)
