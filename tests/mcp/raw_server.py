"""A server of tools in plain JSON lines, with one fault: what an SDK would never send. Started as a process by tests.

    python raw_server.py FAULT [FOLDER]

In FOLDER it leaves a file `started-N` for each of its processes, and `called-N` for each call.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else None

ANY = {"type": "object"}
HARMLESS = {"name": "echo", "inputSchema": ANY, "annotations": {"idempotentHint": True}}
TOOLS: dict[str, list[Any]] = {
    "": [{"name": "echo", "description": "Say it.", "inputSchema": ANY}],
    "nothing": [],
    "bad-schema": [
        {"name": "echo", "inputSchema": {"type": "object", "properties": {"a": {"type": 7}}}}
    ],
    "no-tool": [{"name": "echo", "inputSchema": ANY}, {"inputSchema": ANY}],
    "twice": [{"name": "say/it", "inputSchema": ANY}, {"name": "say it", "inputSchema": ANY}],
    "far-schema": [
        {
            "name": "echo",
            "inputSchema": {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"},
        }
    ],
    "dies-harmless": [HARMLESS],
    "error-harmless": [HARMLESS],
}


def note(kind: str) -> int:
    """Leave a file, and tell which of its kind it is."""
    if FOLDER is None:
        return 1
    number = len(list(FOLDER.glob(f"{kind}-*"))) + 1
    (FOLDER / f"{kind}-{number}").write_text(str(os.getpid()), encoding="utf-8")
    return number


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def initialized(protocol: str) -> dict[str, Any]:
    return {
        "protocolVersion": protocol,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "raw", "version": "1"},
        "instructions": "Use it with care.",
    }


def called(asked: dict[str, Any], started: int) -> None:
    number = note("called")
    if FAULT.startswith("dies") and (FAULT == "dies-always" or started == 1):
        os._exit(3)
    if FAULT == "silent":
        return
    if FAULT == "changes":
        TOOLS["changes"] = [{"name": "other", "inputSchema": ANY}]
        send({"method": "notifications/tools/list_changed"})
    if FAULT == "no-result":
        send({"id": asked["id"], "result": {"content": "hello"}})
        return
    if FAULT.startswith("error"):
        send({"id": asked["id"], "error": {"code": -32603, "message": "out of order"}})
        return
    text = f"{number}: {json.dumps(asked['params'].get('arguments'))}"
    send({"id": asked["id"], "result": {"content": [{"type": "text", "text": text}]}})


def main() -> None:
    started = note("started")
    if FAULT == "dies-at-start" or (FAULT == "dies-for-good" and started > 1):
        sys.exit(3)
    if FAULT == "noise":
        print("Welcome! This line is no JSON.", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if FAULT == "never-ready":
            continue
        match asked["method"]:
            case "initialize":
                known = "1999-01-01" if FAULT == "old" else "2025-06-18"
                send({"id": asked["id"], "result": initialized(known)})
            case "tools/list":
                if FAULT == "endless":
                    page: dict[str, Any] = {"tools": [], "nextCursor": "more"}
                else:
                    page = {"tools": TOOLS.get(FAULT, TOOLS[""])}
                send({"id": asked["id"], "result": page})
            case "tools/call":
                called(asked, started)
            case "notifications/cancelled":
                note("cancelled")
            case _ if "id" in asked:
                send({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})


main()
