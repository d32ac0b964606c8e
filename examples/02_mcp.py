"""A library desk is served by the Model Context Protocol, and an agent works with it as with any toolkit.

The server is this file: its workflow `lend` becomes a tool by `agentflow serve --mcp`. The agent starts it as a process, its model
(a mock, so that this runs offline) calls the tool, and a person must agree before anything is lent.

    python examples/02_mcp.py
    agentflow serve --mcp examples/02_mcp.py:lend
    agentflow serve --mcp examples/02_mcp.py:lend --port 8080
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated, NotRequired, TypedDict

import anyio
from pydantic import Field

from agentflow import (
    Engine,
    Fact,
    RunSuspended,
    Tool,
    build_loop,
    define_workflow,
    node,
    route,
)
from agentflow.mcp import MCPServer
from agentflow.mock import MockModel, Rule, call

SHELF = {"Emma": 2, "Dune": 0}

# The server's side: a workflow. Its inputs are what the tool takes, its result is what the tool gives.


class Loan(TypedDict):
    title: str
    copies: int


class Desk(TypedDict):
    title: Annotated[str, Field(description="The title of the book.")]
    copies: NotRequired[int]
    loan: NotRequired[Loan]


@node(requires=["title"], provides=["copies"], routes=[route.to("stamp")])
async def look(state: Desk) -> dict[str, int]:
    """Count the copies on the shelf."""
    if state["title"] not in SHELF:
        raise LookupError(f"there is no {state['title']!r}")
    return {"copies": SHELF[state["title"]]}


@node(requires=["title", "copies"], provides=["loan"], routes=[route.deliver("loan")])
async def stamp(state: Desk) -> dict[str, Loan]:
    """Lend one of them."""
    if not state["copies"]:
        raise LookupError(f"all copies of {state['title']!r} are lent")
    return {"loan": {"title": state["title"], "copies": state["copies"] - 1}}


lend = define_workflow(
    "lend",
    nodes=[look, stamp],
    state=Desk,
    inputs=["title"],
    result=Loan,
    description="Lend a book.",
)

# The agent's side: a toolkit, in which somebody has to agree to every call.


def with_care(tool: Tool) -> Tool:
    return dataclasses.replace(tool, needs_approval=True)


def told(fact: Fact) -> None:
    if fact.kind in ("tool.started", "tool.progress", "tool.failed", "tool.completed"):
        done = f" {fact.data['done']:g}" if fact.kind == "tool.progress" else ""
        print(f"  {fact.kind} {fact.data['tool']}{done}")


async def main() -> None:
    library = MCPServer.stdio(
        sys.executable,
        ["-m", "agentflow", "serve", "--mcp", f"{__file__}:lend"],
        name="library",
        prefix="library_",
        adapt=with_care,
    )
    model = MockModel(
        [
            Rule(
                reply=[
                    call("library_lend", title="Dune"),
                    call("library_lend", title="Emma"),
                    "Dune is out; Emma is yours.",
                ]
            )
        ]
    )
    engine = Engine(build_loop(), model=model, tools=[library], store="memory:", observers=[told])
    async with engine:
        print("The library offers:")
        for tool in library.tools:
            print(f"  {tool.id}: {tool.description} {sorted(tool.parameters['properties'])}")
        going = engine.run({"messages": "I want Dune, or else Emma."}, run_id="loan")
        while True:
            try:
                result = await going
                break
            except RunSuspended as waits:
                (request,) = waits.requests
                print(f"May it? {request.payload['tool']} {request.payload['arguments']}: yes")
                going = engine.resume("loan", True)
        for message in result.messages:
            for part in message.tool_results:
                print(f"{part.name}: {part.content.replace(run_id(part.content), '…')}")
        print(result.text)


def run_id(text: str) -> str:
    """The id of the server's run, which is another one each time."""
    words = text.split()
    return words[words.index("run") + 1] if "run" in words else "\0"


if __name__ == "__main__":
    anyio.run(main)
