"""Servers that fail: each fault has one clear outcome."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from agentflow import Engine, ToolFailed, UnknownTool
from agentflow.mcp import MCPInvalid, MCPServer, MCPUnavailable, Reconnect
from agentflow.mcp.server import ServerOptions
from agentflow.testing import FactRecorder
from tests.mcp.kit import calling, raw, run
from tests.models.kit import asking

AT_ONCE = Reconnect(attempts=3, backoff=0)


async def opened(server: MCPServer) -> None:
    async with Engine(asking(calling("echo")), tools=[server]):
        raise AssertionError("it was opened")


def notes(folder: Path, kind: str) -> int:
    return len(list(folder.glob(f"{kind}-*")))


async def test_a_tool_of_a_server_is_called_like_any_other() -> None:
    assert await run(raw(), calling("echo", word="hello")) == '1: {"word": "hello"}'


async def test_a_server_that_dies_in_a_call_fails_it_and_is_started_again(tmp_path: Path) -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match="whether it was carried out is not known") as caught:
            await ctx.tools.invoke("echo", {"word": "a"})
        assert isinstance(caught.value.__cause__, MCPUnavailable)
        return (await ctx.tools.invoke("echo", {"word": "b"})).value

    assert await run(raw("dies", tmp_path, reconnect=AT_ONCE), ask) == '2: {"word": "b"}'
    assert (notes(tmp_path, "started"), notes(tmp_path, "called")) == (2, 2)


async def test_only_a_call_that_does_no_harm_is_made_again_and_that_is_told(tmp_path: Path) -> None:
    recorder = FactRecorder()
    server = raw("dies-harmless", tmp_path, reconnect=AT_ONCE)
    value = await run(server, calling("echo", word="a"), observers=[recorder])
    assert value == '2: {"word": "a"}'
    (failed,) = recorder.of("tool.failed")
    assert (failed.data["error"], failed.data["again"]) == ("MCPUnavailable", True)
    assert recorder.only("run.completed").data["used"]["tool_calls"] == 2


async def test_a_server_that_does_not_come_back_fails_each_call(tmp_path: Path) -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match="the connection was lost"):
            await ctx.tools.invoke("echo")
        for _ in range(2):
            gone = "could not be reached again: it ended before it was ready"
            with pytest.raises(ToolFailed, match=gone):
                await ctx.tools.invoke("echo")

    await run(raw("dies-for-good", tmp_path, reconnect=AT_ONCE), ask)
    # The first one, three attempts, and one more for each call that came too late.
    assert notes(tmp_path, "started") == 6
    assert notes(tmp_path, "called") == 1


async def test_a_server_that_is_not_to_be_reached_again_is_not(tmp_path: Path) -> None:
    async def ask(ctx: Any) -> Any:
        for _ in range(3):
            with pytest.raises(ToolFailed, match="MCPUnavailable: MCP server 'raw'"):
                await ctx.tools.invoke("echo")

    await run(raw("dies", tmp_path, reconnect=Reconnect(attempts=0)), ask)
    assert notes(tmp_path, "started") == 1


async def test_a_call_that_is_never_answered_times_out_and_is_cancelled_at_the_server(
    tmp_path: Path,
) -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match=r"longer than its timeout of 0.2 s"):
            await ctx.tools.invoke("echo")

    await run(raw("silent", tmp_path, timeout=0.2), ask)
    assert notes(tmp_path, "cancelled") == 1


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        ("never-ready", MCPUnavailable, r"it was not ready within 0.1 s"),
        ("dies-at-start", MCPUnavailable, "it ended before it was ready"),
        ("old", MCPInvalid, "Unsupported protocol version from the server: 1999-01-01"),
        ("bad-schema", MCPInvalid, "schema of tool 'echo': it is no valid JSON schema: 7"),
        ("far-schema", MCPInvalid, r"refers to 'http://127.0.0.1:9/schema.json', which lies outs"),
        ("no-tool", MCPInvalid, "its list of tools cannot be read: tools.1.name: Field required"),
        ("twice", MCPInvalid, "two of its tools have the id 'say_it'"),
        ("endless", MCPInvalid, "its list of tools has more than 1000 pages"),
    ],
)
async def test_a_server_that_cannot_be_used_keeps_the_engine_from_opening(
    fault: str, kind: type[Exception], reason: str
) -> None:
    options: ServerOptions = {"connect_timeout": 0.1} if fault == "never-ready" else {}
    with pytest.raises(kind, match=f"MCP server 'raw': .*{reason}"):
        await opened(raw(fault, **options))


async def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(MCPUnavailable, match=r"'no-such-program': it cannot be reached: FileNotF"):
        await opened(MCPServer.stdio("/no-such-folder/no-such-program"))


async def test_a_server_that_offers_nothing_is_no_error() -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(UnknownTool, match="the tools are: none"):
            await ctx.tools.invoke("echo")
        return ctx.tools.specs()

    with capture_logs() as told:
        assert await run(raw("nothing"), ask) == ()
    assert [line["reason"] for line in told] == ["it offers no tools"]


async def test_a_line_that_is_no_message_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    assert await run(raw("noise"), calling("echo")) == "1: {}"
    assert "Failed to parse JSONRPC message" in caplog.text


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("no-result", "MCPInvalid: MCP server 'raw': it answered the call with what is no result"),
        ("error", "MCPToolError: MCP server 'raw': out of order (error -32603)"),
    ],
)
async def test_an_answer_that_is_no_value_is_told_to_who_called(fault: str, reason: str) -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match=re.escape(f"tool 'echo' failed: {reason}")):
            await ctx.tools.invoke("echo")

    await run(raw(fault), ask)


async def test_a_server_of_before_2026_tells_unasked_that_its_tools_have_changed() -> None:
    server = raw("changes")

    async def ask(ctx: Any) -> Any:
        before = server.tools
        await ctx.tools.invoke("echo")
        while server.tools is before:
            await anyio.lowlevel.checkpoint()
        return [tool.id for tool in server.tools]

    assert await run(server, ask) == ["other"]


async def test_the_process_of_a_server_ends_with_the_engine(tmp_path: Path) -> None:
    async with Engine(asking(calling("echo")), tools=[raw("", tmp_path)]) as engine:
        await engine.run({})
        process = int((tmp_path / "started-1").read_text(encoding="utf-8"))
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_opening_can_be_cancelled(tmp_path: Path) -> None:
    with anyio.move_on_after(0.01):
        await opened(raw("never-ready", tmp_path))
    assert await run(raw("", tmp_path), calling("echo")) == "1: {}"


async def test_an_error_of_a_tool_that_does_no_harm_is_no_reason_to_call_again(
    tmp_path: Path,
) -> None:
    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match="out of order"):
            await ctx.tools.invoke("echo")

    await run(raw("error-harmless", tmp_path), ask)
    assert notes(tmp_path, "called") == 1
