"""The listener: a server of ours behind a socket of this machine, in the loop of whoever serves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.lowlevel
import uvicorn

from agentflow.mcp.sdk import Server

__all__ = ["listening"]

_HOST: Final = "127.0.0.1"
"""Loopback, which no other machine reaches: whoever asks is not asked who they are."""

_GRACE: Final = 1.0
"""Seconds that an answer gets to end when nobody listens to it any more."""


@asynccontextmanager
async def listening(server: Server[Any], port: int) -> AsyncIterator[str]:
    """Answer by streamable HTTP while the block lasts; gives the address. Needs asyncio, as uvicorn does.

    Args:
        server: What answers.
        port: The port on loopback; 0 for a free one.

    Raises:
        OSError: The port cannot be listened on.
    """
    # Bound here, so that whoever asked for the port gets the error.
    with socket.create_server((_HOST, port)) as bound:
        # With `host`, it refuses pages of others that a browser on this machine shows.
        app = server.streamable_http_app(host=_HOST)
        listener = _Listener(app)
        async with anyio.create_task_group() as group:
            await group.start(listener.run, bound)
            async with server.session_manager.run():
                yield f"http://{_HOST}:{bound.getsockname()[1]}/mcp"
            # Sessions have ended, and with them their answers: connections that are left say no more.
            group.cancel_scope.cancel()


class _Listener(uvicorn.Server):
    """uvicorn's server, which leaves signals to others, and ends at once when it is cancelled."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
        )
        super().__init__(config)

    async def run(self, bound: socket.socket, *, task_status: Any) -> None:  # type: ignore[override]
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup([bound])
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            for listening in self.servers:
                listening.close()
            with anyio.CancelScope(shield=True):
                await self._end()

    async def _end(self) -> None:
        """Break off what is being answered, and give connections back."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        # Whoever answers is told that nobody listens any more; who does not heed that is cancelled.
        for stop in (lambda _: None, asyncio.Task.cancel):
            for task in self.server_state.tasks:
                stop(task)
            if self.server_state.tasks:
                await asyncio.wait(self.server_state.tasks, timeout=_GRACE)
        # One that was aborted gives its socket back in the next turn.
        await anyio.lowlevel.checkpoint()
