"""The Model Context Protocol, both ways: servers of others as toolkits, and workflows as tools for others.

Built on the official SDK, which the extra `mcp` brings.
"""

from __future__ import annotations

from agentflow.mcp.failure import MCPInvalid, MCPServerError, MCPToolError, MCPUnavailable
from agentflow.mcp.reconnect import Reconnect
from agentflow.mcp.server import MCPServer
from agentflow.mcp.workflow_server import WorkflowServer

__all__ = [
    "MCPInvalid",
    "MCPServer",
    "MCPServerError",
    "MCPToolError",
    "MCPUnavailable",
    "Reconnect",
    "WorkflowServer",
]
