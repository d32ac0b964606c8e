"""The listener: an application behind a socket, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from concurrent.futures import Future
from typing import Any

import uvicorn

from agentflow.mock.server.connection import ConnectionProtocol

__all__ = ["Listener"]


class Listener:
    """Listens from when it is made until it is closed.

    Args:
        app: The ASGI application.
        host: Where.
        port: On which port; 0 for a free one.

    Raises:
        OSError: The address cannot be listened on.
    """

    def __init__(self, app: Any, host: str, port: int) -> None:
        # Bound here, so that whoever asked for the address gets the error.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=ConnectionProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            # Clients keep connections; nothing but they and `close` shall end one.
            timeout_keep_alive=3600,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._run, name="agentflow mock server", daemon=True)
        self._thread.start()
        try:
            self._server.ready.result()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Break off what is being answered, and give the port back."""
        self._server.stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
        except BaseException as error:
            if not self._server.ready.done():
                self._server.ready.set_exception(error)
            raise


class _Server(uvicorn.Server):
    """uvicorn's server, which ends at once, and when it is told to."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready: Future[None] = Future()

    def stop(self) -> None:
        """End; from any thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        await super().startup(sockets)
        self.ready.set_result(None)

    async def main_loop(self) -> None:
        # In place of a loop that looks ten times a second whether it shall end.
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # In place of one that waits until every client has gone by itself.
        for listening in sockets or ():
            # Proactor loops have no readers.
            with contextlib.suppress(NotImplementedError):
                self._loop.remove_reader(listening)
        # Answers end with their connections. A connection that was just taken is with a task of the loop, which would lose it
        # if the server were closed meanwhile.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            self._abort_connections()
            await asyncio.wait(tasks)
        for server in self.servers:
            server.close()
        self._abort_connections()
        # One that was aborted gives its socket back in the next turn.
        await asyncio.sleep(0)

    def _abort_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
