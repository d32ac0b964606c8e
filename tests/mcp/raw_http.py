"""A server of before 2026 over plain HTTP that forgets its sessions when it is told to, as one does that is started anew."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Forgetful"]


class Forgetful:
    """The server.

    Args:
        refusal: What it says of a session that it does not know: a status, and an error or nothing.
    """

    def __init__(self, refusal: tuple[int, dict[str, Any] | None]) -> None:
        self.refusal = refusal
        self.sessions: set[str] = set()
        self.calls = 0

    def answer(self, asked: dict[str, Any], session: str | None) -> tuple[int, dict[str, Any]]:
        id = asked.get("id")
        if asked["method"] == "initialize":
            info = {"name": "forgetful", "version": "1"}
            told = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            return 200, {"jsonrpc": "2.0", "id": id, "result": told}
        if session not in self.sessions:
            status, error = self.refusal
            return status, {} if error is None else {"jsonrpc": "2.0", "id": id, "error": error}
        match asked["method"]:
            case "tools/list":
                tool = {"name": "echo", "inputSchema": {"type": "object"}}
                result: dict[str, Any] = {"tools": [tool]}
            case "tools/call":
                self.calls += 1
                result = {"content": [{"type": "text", "text": f"call {self.calls}"}]}
            case _:
                return 202, {}
        return 200, {"jsonrpc": "2.0", "id": id, "result": result}

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Its address, while the block lasts."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, told = outer.answer(asked, self.headers.get("mcp-session-id"))
                body = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                if asked["method"] == "initialize":
                    session = f"s{len(outer.sessions)}"
                    outer.sessions.add(session)
                    self.send_header("mcp-session-id", session)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                self.send_error(405)

            def do_DELETE(self) -> None:
                self.send_error(405)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
            finally:
                server.shutdown()
                thread.join()
