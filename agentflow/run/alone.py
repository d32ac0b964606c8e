"""A run on an engine of its own: what `Workflow.run` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agentflow.run.blocking import wait_for
from agentflow.run.engine import Engine

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["run_once", "run_once_sync"]

R = TypeVar("R")

_RUN_OPTIONS = frozenset({"run_id", "signal", "context", "identity", "deps", "private"})


async def run_once(workflow: Workflow[R], input: Mapping[str, Any] | None, **options: Any) -> R:
    """Run a workflow on an engine of its own; options are those of `Engine` and of `Engine.run`."""
    if not options:
        return await Engine(workflow).run(input)
    mine = {name: options.pop(name) for name in _RUN_OPTIONS & options.keys()}
    async with Engine(workflow, **options) as engine:
        return await engine.run(input, **mine)


def run_once_sync(workflow: Workflow[R], input: Mapping[str, Any] | None, **options: Any) -> R:
    """`run_once`, waited for in a loop of its own."""
    value: R = wait_for(workflow.run, input, options)
    return value
