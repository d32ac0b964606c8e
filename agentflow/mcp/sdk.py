"""The official SDK of the protocol: its import, and who we are to servers."""

from __future__ import annotations

from typing import Final

import agentflow

try:
    import httpx2
    import mcp_types as types
    from mcp import StdioServerParameters, stdio_client, stdio_server
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.client.subscriptions import SubscriptionLost
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "servers of tools that speak MCP need the package 'mcp': pip install 'agentflow[mcp]'",
        name=error.name,
    ) from error

__all__ = [
    "MODERN_PROTOCOL_VERSIONS",
    "NAME",
    "Client",
    "MCPError",
    "Server",
    "StdioServerParameters",
    "SubscriptionLost",
    "httpx2",
    "stdio_client",
    "stdio_server",
    "streamable_http_client",
    "types",
]

NAME: Final = types.Implementation(name="agentflow", version=agentflow.__version__)
"""Who we are to the other side."""
