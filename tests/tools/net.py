"""A web of one machine, for tests of what is asked of it: names with their addresses, and answers in order."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from agentflow.tools.web import GuardedFetch, WebPage

__all__ = ["PUBLIC", "Web", "page", "redirect"]

PUBLIC = "93.184.215.14"


class Web:
    """A web of one machine: names with their addresses, and answers in order; it notes who is connected to."""

    def __init__(
        self,
        *answers: bytes,
        names: dict[str, list[str]] | None = None,
        dead: Sequence[str] = (),
    ) -> None:
        self.dead = dead
        self.answers = list(answers)
        self.names = {} if names is None else names
        self.asked: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self.sent: list[bytes] = []
        self._others: list[socket.socket] = []

    def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.names.get(host, [PUBLIC])

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        self.connected.append((address, port))
        if address in self.dead:
            raise ConnectionRefusedError(f"{address} does not answer")
        ours, theirs = socket.socketpair()
        theirs.sendall(self.answers.pop(0))
        theirs.shutdown(socket.SHUT_WR)
        self._others.append(theirs)
        return ours

    def close(self) -> None:
        for other in self._others:
            other.settimeout(1)
            self.sent.append(other.recv(65536))
            other.close()

    def guarded(self, **options: Any) -> GuardedFetch:
        return GuardedFetch(resolve=self.resolve, connect=self.connect, **options)

    async def page(self, url: str, **options: Any) -> WebPage:
        try:
            return await self.guarded(**options).page(url)
        finally:
            self.close()

    async def fetch(self, url: str, **options: Any) -> str:
        return (await self.page(url, **options)).text


def page(text: str = "Hello.", kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def redirect(to: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode()
