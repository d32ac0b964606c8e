"""What the tests of MCP share: servers in this process and beside it, and a workflow of one node that calls."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Unpack

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

from agentflow import Engine
from agentflow.mcp import MCPServer
from agentflow.mcp.server import ServerOptions
from tests.models.kit import asking

HERE = Path(__file__).parent

Ask = Callable[[Any], Awaitable[Any]]


def raw(fault: str = "", folder: Path | None = None, **options: Unpack[ServerOptions]) -> MCPServer:
    """A server of plain JSON lines in a process of its own, with that fault."""
    # Without `site`: it needs nothing that is installed, and starts in a moment.
    args = [
        "-I",
        "-S",
        str(HERE / "raw_server.py"),
        fault,
        *([] if folder is None else [str(folder)]),
    ]
    return MCPServer.stdio(sys.executable, args, name="raw", **options)


class InProcess:
    """A way to a server of the SDK in this process.

    Args:
        server: The server.
    """

    def __init__(self, server: Server[Any]) -> None:
        self.server = server
        self.connections = 0
        self._cut: Callable[[], None] = lambda: None

    def cut(self) -> None:
        """Take the connection away, as a server does that dies."""
        self._cut()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[Any, Any]]:
        self.connections += 1
        async with create_client_server_memory_streams() as (ours, theirs):
            read, write = theirs
            async with anyio.create_task_group() as group:

                async def serve() -> None:
                    options = self.server.create_initialization_options()
                    await self.server.run(read, write, options)

                group.start_soon(serve)
                self._cut = write.close
                try:
                    yield ours
                finally:
                    await ours[1].aclose()
                    await write.aclose()
                    group.cancel_scope.cancel()


async def run(server: MCPServer, ask: Ask, **options: Any) -> Any:
    """What `ask` gives as the only node of a run on an engine that has the server."""
    async with Engine(asking(ask), tools=[server], **options) as engine:
        return await engine.run({})


def calling(tool: str, **arguments: Any) -> Ask:
    """An `ask` that calls a tool and gives its value."""

    async def ask(ctx: Any) -> Any:
        return (await ctx.tools.invoke(tool, arguments)).value

    return ask
