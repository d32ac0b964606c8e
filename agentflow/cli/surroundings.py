"""Surroundings: what workflows that hold others take from the ends of these, which is read there and not inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentflow.graph.kinds import RESULT
from agentflow.graph.workflow import Workflow

__all__ = ["taken_outside"]


def taken_outside(
    workflows: Iterable[Workflow[Any]], key: Callable[[Workflow[Any]], object]
) -> Mapping[object, frozenset[str]]:
    """The fields that nodes take from the ends of the workflows they hold, however deep.

    Args:
        workflows: The outermost workflows, and any others.
        key: What tells one workflow from another; it is the key of the answer.
    """
    taken: dict[object, frozenset[str]] = {}
    waiting = list(workflows)
    seen: set[int] = set()
    while waiting:
        outer = waiting.pop()
        if id(outer) in seen:
            continue
        seen.add(id(outer))
        for branch in (branch for node in outer.nodes for branch in node.branches):
            inner = key(branch.workflow)
            taken[inner] = taken.get(inner, frozenset()).union(branch.outputs.values()) - {RESULT}
            waiting.append(branch.workflow)
    return taken
