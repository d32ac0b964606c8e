"""Requests without a vendor's client: raw bytes over a socket, or straight into the application."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from agentflow.mock import MockServer

__all__ = ["PATIENCE", "Got", "fetch", "get", "post"]

PATIENCE = 30
"""Seconds after which something that never comes is given up."""


@dataclass(frozen=True)
class Got:
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The names and data of server-sent events."""
        found = []
        for block in self.body.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.splitlines())
            if "data" not in fields:
                # A comment.
                continue
            data = fields["data"]
            found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
        return found


def post(server: MockServer, path: str, body: Any, **headers: str) -> Got:
    """Send a body: bytes as they are, anything else as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _asked(server, "POST", path, raw, headers)


def get(server: MockServer, path: str, **headers: str) -> Got:
    return _asked(server, "GET", path, None, headers)


def _asked(
    server: MockServer, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> Got:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return Got(answer.status, dict(answer.headers.items()), answer.read())
    finally:
        connection.close()


async def fetch(server: MockServer, path: str, body: Any) -> Got:
    """Send a body to the application itself, without a socket."""
    started: dict[str, Any] = {}
    pieces: list[bytes] = []
    done = anyio.Event()
    waiting = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await done.wait()
            return {"type": "http.disconnect"}
        return waiting.pop()

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
            return
        pieces.append(message["body"])
        if not message.get("more_body", False):
            done.set()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json")],
    }
    await server.app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in started["headers"]}
    return Got(started["status"], headers, b"".join(pieces))
