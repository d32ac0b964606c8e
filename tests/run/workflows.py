"""Small workflows that the tests of runs are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentflow import Node, Report, Workflow, define_workflow, node, route
from agentflow.graph.workflow import assemble

END = route.finish(dict)
"""Ends a run with the whole state."""


def alone(function: Callable[..., Any], **options: Any) -> Workflow[Any]:
    """A workflow of one node, which may provide `x` and `y` and ends with the whole state."""
    settings: dict[str, Any] = {"id": "only", "may_provide": ["x", "y"], "routes": [END]}
    return define_workflow("alone", nodes=[node(function, **(settings | options))])


def line(*functions: Callable[..., Any], **options: Any) -> Workflow[Any]:
    """A workflow of nodes `a`, `b`, … in a line, each of which may provide `x` and `y`."""
    ids = [chr(ord("a") + index) for index in range(len(functions))]
    ways = [route.to(id) for id in ids[1:]] + [END]
    nodes = [
        node(function, id=id, may_provide=["x", "y"], routes=[way])
        for function, id, way in zip(functions, ids, ways, strict=True)
    ]
    return define_workflow("line", nodes=nodes, **options)


def unproved(id: str, *, nodes: list[Node], **options: Any) -> Workflow[Any]:
    """A workflow that no check has seen: what a definition would be refused for, a run has to refuse as well."""
    workflow = assemble(id, nodes, place=None, **options)
    workflow.__dict__["report"] = Report(id, (), ())
    return workflow


async def nothing(state: Any) -> None:
    """A node's function that changes nothing."""
