"""One call of a server's tool: the request, its progress, and its result as a value."""

from __future__ import annotations

import math
from typing import Any, Final

import anyio.lowlevel
from pydantic import TypeAdapter, ValidationError

from agentflow.mcp.connection import Connection
from agentflow.mcp.content import texts_and_files
from agentflow.mcp.failure import MCPInvalid, MCPToolError, MCPUnavailable
from agentflow.mcp.sdk import MCPError, types
from agentflow.tools.context import ToolContext
from agentflow.tools.output import ToolOutput

__all__ = ["call_tool"]

_ANSWER: Final[TypeAdapter[Any]] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_LOST: Final = frozenset(
    {"Connection closed", "Session terminated", "Server returned an error response"}
)
"""What the SDK says when there is no connection any more, or the server refuses it, as one does that has been started anew and
knows nothing of it. Its codes say other things too, and a server may use them for errors of its own."""

_CUT: Final = "SSE stream"
"""What it says first when an answer over HTTP has ended before it was whole."""


async def call_tool(
    server: str,
    connection: Connection,
    offered: types.Tool,
    arguments: dict[str, Any],
    ctx: ToolContext,
) -> Any:
    """Call a tool of a server, and give its value: data where it is structured, a text where it is one, else a `ToolOutput`.

    A cancel of the caller cancels the request at the server.

    Raises:
        MCPUnavailable: There is no connection, or it was lost under way.
        MCPToolError: The server answered with an error.
        MCPInvalid: What it answered is no answer.
    """
    client = await connection.client()

    told = -math.inf

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        # Each comes in a task of its own, in whatever order the loop likes: what has been passed is not told any more.
        nonlocal told
        if progress > told:
            told = progress
            ctx.progress(progress, total, message)

    params = types.CallToolRequestParams(name=offered.name, arguments=arguments)
    try:
        # Not by the SDK's own `call_tool`: that judges the value too, and the tool's contract does so already.
        result = await client.session.send_request(
            types.CallToolRequest(params=params), _ANSWER, progress_callback=tell
        )
        # What came before the answer is told before it.
        await anyio.lowlevel.checkpoint()
    except MCPError as error:
        lost = error.message in _LOST or _knows_no_session(error)
        if lost:
            # Who calls next must not get this client again, which may take a moment to go.
            connection.lose(client)
        if lost or error.message.startswith(_CUT):
            text = "the connection was lost while the call was under way; whether it was carried out is not known"
            raise MCPUnavailable(server, text) from error
        raise MCPToolError(server, f"{error.message} (error {error.code})") from error
    except ValidationError as error:
        raise MCPInvalid(server, "it answered the call with what is no result") from error
    if isinstance(result, types.InputRequiredResult):
        text = "the tool wants to ask a person, or a model, which it cannot do here"
        raise MCPToolError(server, text)
    return _value(server, offered, result)


def _knows_no_session(error: MCPError) -> bool:
    """Whether it is what servers of the TypeScript SDK say of a session that they do not know."""
    return error.code == types.CONNECTION_CLOSED and "session" in error.message.lower()


def _value(server: str, offered: types.Tool, result: types.CallToolResult) -> Any:
    try:
        texts, files = texts_and_files(result.content)
    except ValueError as error:
        raise MCPInvalid(server, f"a file in its answer cannot be read: {error}") from error
    text = "\n".join(texts)
    if result.is_error:
        raise MCPToolError(server, text or "the tool failed, and did not say why")
    data = result.structured_content
    if data is None and offered.output_schema is not None:
        raise MCPInvalid(server, "the result lacks the structured content that the tool promises")
    if files:
        return ToolOutput(text, tuple(files), data)
    return text if data is None else data
