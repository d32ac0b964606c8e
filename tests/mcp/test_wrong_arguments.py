"""Servers: an argument of the wrong kind is refused where it is given, by its name, and nothing secret is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentflow.mcp import MCPServer, Reconnect, WorkflowServer

WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (WorkflowServer, {"workflows": 3}, "WorkflowServer(workflows=3): give a list of workflows"),
    (WorkflowServer, {"workflows": "abc"}, "WorkflowServer(workflows='abc'): give a list of"),
    (WorkflowServer, {"workflows": [3]}, "3 is neither a workflow nor an engine"),
    (WorkflowServer, {"workflows": [], "budget": 3}, "budget=3: it is a Budget, or None"),
    (WorkflowServer, {"workflows": [], "name": ""}, "WorkflowServer(name=''): give a text, not"),
    (WorkflowServer, {"workflows": [], "instructions": 3}, "WorkflowServer(instructions=3): give"),
    (MCPServer.stdio, {"command": 3}, "MCPServer.stdio(command=3): give a text, not empty"),
    (MCPServer.stdio, {"command": "x", "args": 3}, "MCPServer.stdio(args=3): give a list of texts"),
    (MCPServer.stdio, {"command": "x", "cwd": 3}, "MCPServer.stdio(cwd=3): give a path, or None"),
    (MCPServer.stdio, {"command": "x", "name": 3}, "MCPServer(name=3): give a text, not empty"),
    (MCPServer.stdio, {"command": "x", "prefix": 3}, "MCPServer(prefix=3): give a text"),
    (MCPServer.stdio, {"command": "x", "tools": 3}, "MCPServer(tools=3): give a list of the names"),
    (MCPServer.stdio, {"command": "x", "timeout": "3"}, "MCPServer(timeout='3'): give seconds"),
    (MCPServer.stdio, {"command": "x", "connect_timeout": None}, "MCPServer(connect_timeout=None)"),
    (MCPServer.http, {"url": 3}, "MCPServer.http(url=3): give a text"),
    (Reconnect, {"attempts": 1.5}, "Reconnect(attempts=1.5): give a whole number of at least 0"),
    (Reconnect, {"backoff": True}, "Reconnect(backoff=True): give seconds, of at least 0"),
]


@pytest.mark.parametrize(("made", "given", "told"), WRONG)
def test_an_argument_of_the_wrong_kind_is_refused_by_its_name(
    made: Callable[..., Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(told)}"):
        made(**given)


def test_what_may_be_secret_is_not_told() -> None:
    secret: Any = ["KEY=s3cret"]
    with pytest.raises(TypeError, match=r"stdio\(env=…\): it is a mapping, and not list$"):
        MCPServer.stdio("program", env=secret)
    with pytest.raises(TypeError, match=r"http\(headers=…\): it is a mapping, and not list$"):
        MCPServer.http("http://localhost/mcp", headers=secret)
