"""Working memory: what an agent knows of a resource in a form of its own, told with the instructions and updated by a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from agentflow.agents.memory.owner import owner_recorded
from agentflow.agents.memory.ports import WorkingMemory
from agentflow.tools.context import ToolContext
from agentflow.tools.tool import Tool, tool

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agentflow.agents.memory.settings import Memory
    from agentflow.run.context import NodeContext

__all__ = ["INTERNAL", "UPDATE", "reading", "updating"]

UPDATE: Final = "update_working_memory"
"""The id of the tool."""

INTERNAL: Final = frozenset({UPDATE})
"""Tools whose calls in earlier turns are not replayed to a model: what came of them is told."""

_DESCRIPTION: Final = (
    "Keep what you have learned, for this and later conversations. Give the whole memory as it shall be from now on: what you "
    "leave out is forgotten."
)


def updating(working: WorkingMemory, form: type[BaseModel]) -> Tool:
    """The tool by which a model updates a working memory.

    Args:
        working: Keeps it.
        form: What it must be.
    """

    async def update(memory: Any, ctx: ToolContext) -> str:
        resource = owner_recorded(ctx.node).resource_id
        if resource is None:
            raise LookupError("nothing can be kept, for nobody has said whose memory it is")
        await working.put(resource, memory.model_dump_json())
        return "kept"

    update.__annotations__ = {"memory": form, "ctx": ToolContext, "return": str}
    # Whoever gives the agent a memory lets it write there, so a demand for authorization has its answer. Two updates of one
    # answer are made one after the other: the last one counts.
    return tool(update, id=UPDATE, description=_DESCRIPTION, authorize=True, parallel=False)


def reading(memory: Memory | None, ctx: NodeContext) -> Callable[[], Awaitable[str | None]] | None:
    """What reads the working memory of a call for its instructions; `None` where there is none, or nobody's.

    Args:
        memory: That of the agent.
        ctx: The visit that puts the instructions together.
    """
    if memory is None or memory.working is None:
        return None
    working, resource = memory.working, owner_recorded(ctx).resource_id
    return None if resource is None else lambda: working.get(resource)
