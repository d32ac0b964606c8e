"""What can go wrong with a server of tools, by who has to act."""

from __future__ import annotations

from agentflow.errors import AgentflowError

__all__ = ["MCPInvalid", "MCPServerError", "MCPToolError", "MCPUnavailable"]


class MCPServerError(AgentflowError):
    """The root of what can go wrong with an MCP server; `server` is its name, `reason` the message without it, and the SDK's own error the `__cause__`."""

    code = "mcp_server"

    def __init__(self, server: str, message: str) -> None:
        self.server = server
        self.reason = message
        super().__init__(f"MCP server {server!r}: {message}")


class MCPUnavailable(MCPServerError):
    """The server cannot be started or reached, does not answer in time, or is gone: the same may work later."""

    code = "mcp_unavailable"


class MCPInvalid(MCPServerError):
    """The server sent what the protocol, or its own word, does not allow: a schema that is none, or no tool of that name."""

    code = "mcp_invalid"


class MCPToolError(MCPServerError):
    """The server has answered a call with an error."""

    code = "mcp_tool"
