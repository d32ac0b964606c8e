"""Workflows as tools of others, asked by the SDK's own client and by ours."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

import anyio
import anyio.lowlevel
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import Field

from agentflow import Budget, Engine, Workflow, define_workflow, node, route
from agentflow.mcp import MCPServer, WorkflowServer
from agentflow.messages import FilePart
from agentflow.testing import FactRecorder
from agentflow.tools import ToolOutput
from tests.mcp.beside import beside
from tests.mcp.kit import InProcess, calling, run
from tests.models.kit import asking


@dataclass
class Report:
    title: str
    lines: list[str] = field(default_factory=list)


class State(TypedDict):
    topic: Annotated[str, Field(description="What it is about.")]
    length: NotRequired[int]
    report: NotRequired[Report]


class Strange:
    """What pydantic knows nothing of."""


class Odd(TypedDict):
    topic: Strange
    seen: NotRequired[bool]


def flow(body: Any, *, result: Any = Report, id: str = "report") -> Workflow[Any]:
    async def write(state: Any, ctx: Any) -> Any:
        return {"report": await body(state, ctx)}

    writing = node(write, requires=["topic"], provides=["report"], routes=[route.deliver("report")])
    return define_workflow(
        id,
        nodes=[writing],
        state=State,
        inputs=["topic"],
        optional_inputs=["length"],
        result=result,
        description="Write a report.",
    )


async def write(state: Any, ctx: Any) -> Report:
    return Report(state["topic"], ["a", "b"][: state.get("length", 2)])


@asynccontextmanager
async def asked(server: WorkflowServer, **options: Any) -> AsyncIterator[Client]:
    """The SDK's own client of a server, and the engines of the server open."""
    async with (
        server._entered(),
        Client(InProcess(server._server).connect(), cache=None, **options) as client,
    ):
        yield client


async def test_a_workflow_is_told_with_its_inputs_and_its_result() -> None:
    async with asked(WorkflowServer([flow(write)], instructions="Ask.")) as client:
        assert client.instructions == "Ask."
        (tool,) = (await client.list_tools()).tools
    assert (tool.name, tool.description) == ("report", "Write a report.")
    assert tool.input_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "topic": {"type": "string", "description": "What it is about."},
            "length": {"type": "integer"},
        },
        "required": ["topic"],
        "additionalProperties": False,
    }
    assert tool.output_schema is not None
    assert tool.output_schema["properties"]["lines"]["items"] == {"type": "string"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_runs_it_and_gives_its_result_as_text_and_data(mode: str) -> None:
    async with asked(WorkflowServer([flow(write)]), mode=mode) as client:
        result = await client.call_tool("report", {"topic": "fog", "length": 1})
    assert result.is_error is False
    assert result.structured_content == {"title": "fog", "lines": ["a"]}
    assert result.content[0].text == '{"title": "fog", "lines": ["a"]}'  # type: ignore[union-attr]
    assert result.meta is not None
    assert result.meta["agentflow/status"] == "completed"
    assert len(result.meta["agentflow/run_id"]) == 36


@pytest.mark.parametrize(
    ("result", "value", "data"),
    [
        (str, "fog", {"result": "fog"}),
        (list[int], [1, 2], {"result": [1, 2]}),
        (list[Report], [Report("x")], {"result": [{"title": "x", "lines": []}]}),
        (None, {"any": 1}, None),
    ],
)
async def test_a_result_that_is_no_object_stands_in_one(result: Any, value: Any, data: Any) -> None:
    class Loose(TypedDict):
        topic: str
        report: NotRequired[Any]

    async def write(state: Any, ctx: Any) -> Any:
        return {"report": value}

    writing = node(write, provides=["report"], routes=[route.deliver("report")])
    workflow = define_workflow(
        "loose", nodes=[writing], state=Loose, inputs=["topic"], result=result
    )
    async with asked(WorkflowServer([workflow])) as client:
        # The client holds it to the schema that it was told.
        given = await client.call_tool("loose", {"topic": "fog"})
    assert given.structured_content == data
    assert given.is_error is False


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (FilePart("image/png", b"\x89"), ["image"]),
        (FilePart("audio/wav", b"\x89"), ["audio"]),
        (FilePart("text/plain", b"A note.", name="note.txt"), ["resource"]),
        (FilePart("application/pdf", b"\x89"), ["resource"]),
        (FilePart("application/pdf", url="http://x/y.pdf"), ["resource_link"]),
        (ToolOutput("Look:", (FilePart("image/png", b"\x89"),)), ["text", "image"]),
        (ToolOutput(), ["text"]),
    ],
)
async def test_a_result_of_files_is_content(value: Any, kinds: list[str]) -> None:
    class Shown(TypedDict):
        shown: NotRequired[Any]

    async def show(state: Any) -> Any:
        return {"shown": value}

    showing = node(show, provides=["shown"], routes=[route.deliver("shown")])
    workflow = define_workflow("show", nodes=[showing], state=Shown, inputs=[], result=type(value))
    async with asked(WorkflowServer([workflow])) as client:
        given = await client.call_tool("show", {})
    assert [block.type for block in given.content] == kinds
    if value == FilePart("text/plain", b"A note.", name="note.txt"):
        assert given.content[0].resource.text == "A note."  # type: ignore[union-attr]
        assert str(given.content[0].resource.uri) == "file:///note.txt"  # type: ignore[union-attr]


async def test_what_goes_wrong_is_an_error_of_the_tool_with_the_id_of_the_run() -> None:
    async def fail(state: Any, ctx: Any) -> Any:
        raise OSError("no ink")

    async with asked(WorkflowServer([flow(fail)])) as client:
        failed = await client.call_tool("report", {"topic": "fog"})
        wrong = await client.call_tool("report", {"topic": "fog", "colour": "red"})
        with pytest.raises(MCPError, match="there is no tool 'fly'; the tools are: report"):
            await client.call_tool("fly", {})
    assert failed.is_error
    assert failed.meta is not None
    run_id = failed.meta["agentflow/run_id"]
    assert failed.content[0].text == f"run {run_id} failed: OSError: no ink"  # type: ignore[union-attr]
    assert "takes no input field 'colour'" in wrong.content[0].text  # type: ignore[union-attr]


async def test_a_run_that_waits_says_what_for_and_goes_on_elsewhere() -> None:
    async def wait(state: Any, ctx: Any) -> Any:
        return Report(await ctx.suspend("title", None))

    engine = Engine(flow(wait), store="memory:")
    async with asked(WorkflowServer([engine])) as client:
        result = await client.call_tool("report", {"topic": "fog"})
        assert result.is_error
        assert result.meta is not None
        assert result.meta["agentflow/status"] == "suspended"
        told = result.content[0].text  # type: ignore[union-attr]
        assert "waits for an answer to 'title'" in told
        assert "`agentflow resume`" in told
        assert await engine.resume(result.meta["agentflow/run_id"], "Fog") == Report("Fog")
    async with asked(WorkflowServer([flow(wait)])) as client:
        result = await client.call_tool("report", {"topic": "fog"})
    assert result.is_error


async def test_the_budget_of_the_server_holds_for_each_run() -> None:
    async def loop(state: Any, ctx: Any) -> Any:
        for _ in range(3):
            await ctx.model.invoke("Hello.")
        return Report("")

    from agentflow.mock import MockModel, Rule

    model = MockModel([Rule(reply="Hi.")])
    server = WorkflowServer([Engine(flow(loop), model=model)], budget=Budget(model_calls=2))
    async with asked(server) as client:
        for _ in range(2):
            result = await client.call_tool("report", {"topic": "fog"})
            assert "BudgetExceeded: the limit of model_calls is 2" in result.content[0].text  # type: ignore[union-attr]


async def test_steps_are_told_to_a_client_that_wants_to_know() -> None:
    told: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with asked(WorkflowServer([flow(write)])) as client:
        await client.call_tool("report", {"topic": "fog"}, progress_callback=hear)
        while not told:
            await anyio.lowlevel.checkpoint()
    assert told == [(1, "node 'write'")]


async def test_a_client_that_cancels_the_call_cancels_the_run() -> None:
    began, recorder = anyio.Event(), FactRecorder()

    async def wait(state: Any, ctx: Any) -> Any:
        began.set()
        await anyio.sleep_forever()

    engine = Engine(flow(wait), store="memory:", observers=[recorder])
    async with asked(WorkflowServer([engine])) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "report", {"topic": "fog"})
            await began.wait()
            group.cancel_scope.cancel()
        while not recorder.of("run.cancelled"):
            await anyio.lowlevel.checkpoint()
        assert recorder.only("run.cancelled").data["reason"].startswith("the client cancelled")


def test_what_is_offered_must_have_schemas_and_names_of_its_own() -> None:
    async def look(state: Any) -> Any:
        return {"seen": True}

    looking = node(look, provides=["seen"], routes=[route.deliver("seen")])
    odd = define_workflow("odd", nodes=[looking], state=Odd, inputs=["topic"])
    with pytest.raises(ValueError, match="'odd' cannot be a tool: its input 'topic' has no JSON"):
        WorkflowServer([odd])
    with pytest.raises(ValueError, match="two workflows have the id 'report'"):
        WorkflowServer([flow(write), Engine(flow(write))])
    with pytest.raises(TypeError, match="is neither a workflow nor an engine"):
        WorkflowServer([write])  # type: ignore[list-item]
    assert WorkflowServer([flow(write)]).tools == ("report",)


@pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")
async def test_our_own_client_calls_it_over_http() -> None:
    server = WorkflowServer([flow(write)])
    with beside(server.serve_http) as address:
        recorder = FactRecorder()
        value = await run(
            MCPServer.http(address), calling("report", topic="fog"), observers=[recorder]
        )
        assert value == {"title": "fog", "lines": ["a", "b"]}
        assert recorder.of("tool.progress")


@pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_calls_it_over_http(mode: Any) -> None:
    server = WorkflowServer([flow(write)])
    with beside(server.serve_http) as address:
        async with Client(address, mode=mode) as client:
            result = await client.call_tool("report", {"topic": "fog"})
    assert result.structured_content == {"title": "fog", "lines": ["a", "b"]}


@pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")
async def test_a_server_that_is_left_leaves_durable_runs_where_they_can_go_on() -> None:
    recorder = FactRecorder()

    async def wait(state: Any, ctx: Any) -> Any:
        await anyio.sleep_forever()

    engine = Engine(flow(wait), store="memory:", observers=[recorder])
    with beside(WorkflowServer([engine]).serve_http) as address:
        client = Engine(asking(calling("report", topic="fog")), tools=[MCPServer.http(address)])
        await client.__aenter__()
        call = client.start({})
        await call.__aenter__()
        while not recorder.of("node.started"):
            await anyio.lowlevel.checkpoint()
    await client.close()
    assert recorder.kinds("run.")[-1] == "run.interrupted"


SERVING = """
import sys
from typing import NotRequired, TypedDict

import anyio

from agentflow import define_workflow, node, route
from agentflow.mcp import WorkflowServer


class State(TypedDict):
    word: str
    said: NotRequired[str]


async def say(state):
    print("said", state["word"])
    return {"said": state["word"]}


saying = node(say, requires=["word"], provides=["said"], routes=[route.deliver("said")])
echo = define_workflow("echo", nodes=[saying], state=State, inputs=["word"], result=str)
anyio.run(WorkflowServer([echo]).serve_stdio, backend=sys.argv[1])
"""


async def test_a_program_serves_over_pipes_on_any_loop(anyio_backend_name: str) -> None:
    made = MCPServer.stdio(sys.executable, ["-c", SERVING, anyio_backend_name])
    assert await run(made, calling("echo", word="Grüße")) == {"result": "Grüße"}
