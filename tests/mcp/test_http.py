"""Servers that are reached by streamable HTTP, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest

from agentflow import Engine, RunCancelled, ToolFailed
from agentflow.mcp import MCPServer, MCPUnavailable, Reconnect
from agentflow.mcp.listener import listening
from agentflow.testing import FactRecorder
from tests.mcp.beside import beside
from tests.mcp.house import House, echo, text, walk
from tests.mcp.kit import calling, run
from tests.mcp.raw_http import Forgetful
from tests.models.kit import asking

# The SDK's HTTP client leaves the generators that read its streams to the garbage collector, which trio tells.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http(x|core)2:ResourceWarning")


@pytest.fixture
def house() -> House:
    made = House()
    made.add("echo", echo)
    made.add("walk", walk)
    made.add("never", made.never)
    return made


@pytest.fixture
def address(house: House) -> Iterator[str]:
    with beside(lambda: listening(house.server, 0)) as found:
        yield found


async def test_a_tool_behind_an_address_is_called_and_tells_its_progress(address: str) -> None:
    recorder = FactRecorder()
    server = MCPServer.http(address)
    assert await run(server, calling("walk"), observers=[recorder]) == "there"
    assert [fact.data["done"] for fact in recorder.of("tool.progress")][-1] == 2


async def test_headers_go_with_every_request(house: House, address: str) -> None:
    async def who(ctx: Any, arguments: Any) -> Any:
        return text(ctx.request.headers["authorization"])

    house.add("who", who)
    server = MCPServer.http(address, headers={"Authorization": "Bearer me"})
    assert await run(server, calling("who")) == "Bearer me"


async def test_a_cancel_reaches_the_server(house: House, address: str) -> None:
    async with Engine(asking(calling("never")), tools=[MCPServer.http(address)]) as engine:
        async with engine.start({}) as going:
            while not house.began.is_set():
                await anyio.lowlevel.checkpoint()
            going.cancel("enough")
            with pytest.raises(RunCancelled):
                await going.result()
        while not house.cancelled.is_set():
            await anyio.lowlevel.checkpoint()


async def test_changed_tools_are_heard_of(house: House, address: str) -> None:
    async def grow(ctx: Any, arguments: Any) -> Any:
        house.add("fresh", echo)
        await house.change()
        return text("grown")

    house.add("grow", grow)
    made = MCPServer.http(address)

    async def ask(ctx: Any) -> Any:
        await ctx.tools.invoke("grow")
        while "fresh" not in {tool.id for tool in made.tools}:
            await anyio.lowlevel.checkpoint()

    await run(made, ask)


async def test_an_address_where_nobody_is_keeps_the_engine_from_opening() -> None:
    with pytest.raises(MCPUnavailable, match=r"'127.0.0.1': it cannot be reached: ConnectError"):
        await run(MCPServer.http("http://127.0.0.1:9/mcp"), calling("echo"))


async def test_a_server_that_goes_and_comes_again_is_found_again(house: House) -> None:
    with beside(lambda: listening(house.server, 0)) as address:
        made = MCPServer.http(address, reconnect=Reconnect(attempts=1, backoff=0))
        engine = Engine(asking(calling("echo", word="here")), tools=[made])
        await engine.__aenter__()
        assert await engine.run({}) == "here"
    try:
        with pytest.raises(ToolFailed, match=r"MCPUnavailable: MCP server '127.0.0.1'"):
            await engine.run({})
        port = urlsplit(address).port
        assert port is not None
        with beside(lambda: listening(house.server, port)):
            assert await engine.run({}) == "here"
            await engine.close()
    finally:
        await engine.close()


@pytest.mark.parametrize(
    "refusal",
    [
        (404, None),
        (400, None),
        (400, {"code": -32000, "message": "Bad Request: No valid session ID provided"}),
    ],
    ids=str,
)
async def test_a_server_that_has_forgotten_us_is_greeted_again(refusal: Any) -> None:
    server = Forgetful(refusal)

    async def ask(ctx: Any) -> Any:
        server.sessions = {"of others"}
        with pytest.raises(ToolFailed, match=r"MCPUnavailable: .* the connection was lost"):
            await ctx.tools.invoke("echo")
        return (await ctx.tools.invoke("echo")).value

    with server.listening() as address:
        made = MCPServer.http(address, reconnect=Reconnect(backoff=0))
        assert await run(made, ask) == "call 1"


async def test_an_error_of_the_servers_own_leaves_the_connection_alone() -> None:
    server = Forgetful((200, {"code": -32000, "message": "the printer is on fire"}))

    async def ask(ctx: Any) -> Any:
        known, server.sessions = server.sessions, {"of others"}
        with pytest.raises(ToolFailed, match=r"MCPToolError: .* on fire \(error -32000\)"):
            await ctx.tools.invoke("echo")
        server.sessions = known
        return (await ctx.tools.invoke("echo")).value

    with server.listening() as address:
        assert await run(MCPServer.http(address), ask) == "call 1"
        assert len(server.sessions) == 1
