"""Background tools: a model starts them, goes on with something else, and is told when they have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agentflow.agents.background_task import tasks_of
from agentflow.graph.contract import Contract
from agentflow.tools.context import ToolContext
from agentflow.tools.tool import Tool, tool
from agentflow.tools.tool_input import ToolInput
from agentflow.tools.toolkit import Toolkit

__all__ = ["STATUS", "background"]

STATUS: Final = "task_status"
"""The tool by which a model learns how a task stands, also when it has not asked."""


def background(*tools: Tool) -> Toolkit:
    """Tools that work in the background of a stream.

    Of each tool, the model gets `start_` and its id, with the same arguments, which begins a task and returns at once; besides
    `task_status` and `task_cancel`. With `stream_text(…, until_idle=True)` it is told of every task that has ended; a plain
    stream ends with its turn, and cancels what is running when it is left. Time, tries, guardrails and policies of the tool
    hold for the task; who has to agree to the call agrees to its start.

    Args:
        tools: The tools.

    Raises:
        TypeError: One of them is no tool.
    """
    for item in tools:
        if not isinstance(item, Tool):
            raise TypeError(f"background({item!r}): give tools, made with @tool")
    return Toolkit((*(_started(item) for item in tools), _status, _cancel), name="background")


@dataclass(frozen=True, slots=True, eq=False)
class _Arguments:
    """The arguments of a tool, handed over as they are, to whoever starts it."""

    of: ToolInput

    @property
    def schema(self) -> Mapping[str, Any]:
        return self.of.schema

    def accept(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.of.accept(arguments)

    def bind(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        return [dict(arguments), context], {}


def _started(item: Tool) -> Tool:
    async def start(arguments: Mapping[str, Any], ctx: ToolContext) -> str:
        task = tasks_of(ctx).start(item, arguments, ctx)
        return f"{task.id} ({item.id}) has started"

    return replace(
        item,
        id=f"start_{item.id}",
        description=f"Start this in the background: {item.description}",
        handler=start,
        input=_Arguments(item.input),
        output=Contract(str),
        timeout=None,
        retries=0,
        cache=None,
    )


async def _told(task: str, ctx: ToolContext) -> str:
    """Look how a background task stands.

    Args:
        task: The id of the task.
        ctx: The call.
    """
    found = tasks_of(ctx).find(task)
    found.told = found.status != "running"
    return found.report


async def _stopped(task: str, ctx: ToolContext) -> str:
    """Cancel a background task.

    Args:
        task: The id of the task.
        ctx: The call.
    """
    found = tasks_of(ctx).find(task)
    if found.status != "running":
        found.told = True
        return found.report
    found.cancel()
    return f"{found.id} ({found.tool_id}) is being cancelled"


_status = tool(_told, id=STATUS)
_cancel = tool(_stopped, id="task_cancel")
