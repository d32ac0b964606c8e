"""A tool of a server as an ordinary tool."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from agentflow.graph.contract import ANY
from agentflow.graph.place import Place
from agentflow.mcp.failure import MCPUnavailable
from agentflow.mcp.sdk import types
from agentflow.tools.context import ToolContext
from agentflow.tools.json_contract import JsonInput, json_output
from agentflow.tools.tool import Tool

__all__ = ["foreign_tool", "tool_id"]

Handler = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]

_STRANGE: Final = re.compile(r"[^A-Za-z0-9_.-]")


def tool_id(name: str, prefix: str) -> str:
    """The id of a server's tool: its name behind the prefix, with `_` for what ids may not have."""
    id = _STRANGE.sub("_", prefix + name)
    return id if id[:1].isalpha() or id.startswith("_") else f"_{id}"


def foreign_tool(
    offered: types.Tool,
    handler: Handler,
    *,
    id: str,
    source: str,
    timeout: float | None,
    retries: int,
) -> Tool:
    """The tool that a server offers.

    Args:
        offered: What the server says of it.
        handler: Calls it.
        id: Its id here.
        source: Where it is from, for errors.
        timeout: Seconds that a call may take.
        retries: How often a call may be made again that was lost with its connection, if the server says that this does no harm.

    Raises:
        ValueError: One of its schemas cannot be used.
    """
    hints = offered.annotations or types.ToolAnnotations()
    harmless = hints.read_only_hint is True or hints.idempotent_hint is True
    try:
        input = JsonInput(offered.input_schema)
    except ValueError as error:
        raise ValueError(f"the input schema of tool {offered.name!r}: {error}") from error
    try:
        output = ANY if offered.output_schema is None else json_output(offered.output_schema)
    except ValueError as error:
        raise ValueError(f"the output schema of tool {offered.name!r}: {error}") from error
    return Tool(
        id=id,
        description=offered.description or offered.title or "",
        handler=handler,
        input=input,
        output=output,
        kind=_kind(hints),
        timeout=timeout,
        retries=retries if harmless else 0,
        retry_on=(MCPUnavailable,),
        place=Place(source),
    )


def _kind(hints: types.ToolAnnotations) -> str | None:
    """What the server says of it; where it says nothing, nothing is known."""
    if hints.read_only_hint is None:
        return None
    return "read" if hints.read_only_hint else "write"
