"""The connection under a request: what a server can do to it that HTTP has no words for."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any, Protocol

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["EXTENSION", "Connection", "ConnectionProtocol"]

EXTENSION = "agentflow.connection"
"""Under which name the connection stands among the extensions of an ASGI scope."""


class Connection(Protocol):
    """A connection that can be ended without the answer being whole."""

    def cut(self) -> None:
        """Send what was written, and close."""
        ...

    def reset(self) -> None:
        """Close at once, so that the client sees a reset."""
        ...


class ConnectionProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which hands its connection to the application."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        app: Any = self.app

        async def connected(scope: Any, receive: Any, send: Any) -> None:
            scope["extensions"] = {**scope.get("extensions", {}), EXTENSION: self}
            await app(scope, receive, send)

        self.app = connected

    def connection_made(self, transport: Any) -> None:
        """Send every event at once: the system would keep it until the client has told that it got the one before."""
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cut(self) -> None:
        """Send what was written, and close."""
        self.transport.close()

    def reset(self) -> None:
        """Close at once, so that the client sees a reset."""
        sock = self.transport.get_extra_info("socket")
        # A close that does not linger is a reset.
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()
