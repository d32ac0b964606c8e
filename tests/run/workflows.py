"""Small workflows that the tests of runs are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentflow import Node, Report, Workflow, node, route
from agentflow.graph.workflow import assemble

END = route.finish(dict)
"""Ends a run with the whole state."""


def alone(function: Callable[..., Any], **options: Any) -> Workflow[Any]:
    """A workflow of one node, which may provide `x` and `y` and ends with the whole state."""
    settings: dict[str, Any] = {"id": "only", "may_provide": ["x", "y"], "routes": [END]}
    return unchecked("alone", nodes=[node(function, **(settings | options))])


def line(*functions: Callable[..., Any], **options: Any) -> Workflow[Any]:
    """A workflow of nodes `a`, `b`, … in a line, each of which may provide `x` and `y`."""
    ids = [chr(ord("a") + index) for index in range(len(functions))]
    ways = [route.to(id) for id in ids[1:]] + [END]
    nodes = [
        node(function, id=id, may_provide=["x", "y"], routes=[way])
        for function, id, way in zip(functions, ids, ways, strict=True)
    ]
    return unchecked("line", nodes=nodes, **options)


def unchecked(id: str, *, nodes: Sequence[Node], **options: Any) -> Workflow[Any]:
    """A workflow that no check has seen: a run keeps its word, whatever has been proved of the definition before."""
    workflow = assemble(id, nodes, place=None, **options)
    workflow.__dict__["report"] = Report(id, (), ())
    return workflow


async def nothing(state: Any) -> None:
    """A node's function that changes nothing."""
