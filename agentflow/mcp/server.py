"""Servers of others: their tools as a toolkit of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self, TextIO, TypedDict, Unpack
from urllib.parse import urlsplit

from agentflow.graph.argument import (
    FUNCTION,
    LIMIT,
    LIST,
    NAME,
    TEXT,
    Wanted,
    check_arguments,
    instance,
    or_none,
)
from agentflow.mcp.call import call_tool
from agentflow.mcp.connection import Connection
from agentflow.mcp.failure import MCPInvalid, MCPUnavailable
from agentflow.mcp.foreign_tool import foreign_tool, tool_id
from agentflow.mcp.listing import Listing
from agentflow.mcp.reconnect import Reconnect
from agentflow.mcp.sdk import types
from agentflow.mcp.transport import HttpAddress, StdioCommand, Way
from agentflow.run.loop import Loop, current_loop
from agentflow.tools.connected import ConnectedToolkit
from agentflow.tools.context import ToolContext
from agentflow.tools.tool import Tool

__all__ = ["Adapt", "MCPServer", "ServerOptions"]

Adapt = Callable[[Tool], Tool | None]
"""What becomes of a tool: itself, another (as `dataclasses.replace` makes it), or `None` to leave it out."""

_RECONNECT: Final = Reconnect()

_WANTED: Final = {
    "name": NAME,
    "prefix": TEXT,
    "tools": Wanted(or_none(LIST).accepts, "a list of the names of tools"),
    "adapt": Wanted(or_none(FUNCTION).accepts, "a function of a tool"),
    "timeout": or_none(LIMIT),
    "connect_timeout": LIMIT,
    "reconnect": instance(Reconnect, "a Reconnect"),
}


class ServerOptions(TypedDict, total=False):
    """The options that all servers have; `MCPServer` tells what they mean."""

    prefix: str
    tools: Collection[str] | None
    adapt: Adapt | None
    timeout: float | None
    connect_timeout: float
    reconnect: Reconnect


class MCPServer(ConnectedToolkit):
    """A server of tools that speaks MCP: `Engine(…, tools=[MCPServer.stdio("uvx", ["mcp-server-time"])])`.

    The engine connects when it is entered and disconnects when it is left; a server that several engines of one event loop have
    is connected once. Its tools are ordinary tools: what authorises, limits, approves and records calls does so here too.
    When the server says that its tools have changed, visits that begin later see the new ones.

    Made with `stdio` or `http`. These options are theirs:

    Args:
        way: How the server is reached.
        name: What errors and logs call it.
        prefix: Stands before the names of its tools.
        tools: The names, as the server has them, of the tools to take; default: all.
        adapt: What becomes of each tool, such as `lambda tool: dataclasses.replace(tool, needs_approval=True)`.
        timeout: Seconds that a call may take; `None` for any.
        connect_timeout: Seconds that the server gets to be ready, and to list its tools.
        reconnect: What is done when it is gone. A call that was under way has failed then, and the model is told; only one that
            the server calls read-only or idempotent is made once more.

    Raises:
        TypeError: An option is of the wrong kind.
        ValueError: A time is not above 0.
    """

    __slots__ = (
        *("_adapt", "_connect_timeout", "_connection", "_instructions", "_listing", "_loop"),
        *("_name", "_opens", "_prefix", "_reconnect", "_timeout", "_tools", "_wanted", "_way"),
    )

    def __init__(
        self,
        way: Way,
        *,
        name: str,
        prefix: str = "",
        tools: Collection[str] | None = None,
        adapt: Adapt | None = None,
        timeout: float | None = 60.0,
        connect_timeout: float = 30.0,
        reconnect: Reconnect = _RECONNECT,
    ) -> None:
        times = {"timeout": timeout, "connect_timeout": connect_timeout, "reconnect": reconnect}
        asked = {"name": name, "prefix": prefix, "tools": tools, "adapt": adapt, **times}
        check_arguments("MCPServer", _WANTED, asked)
        self._way = way
        self._name = name
        self._prefix = prefix
        self._wanted = None if tools is None else frozenset(tools)
        self._adapt = adapt
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._reconnect = reconnect
        self._connection: Connection | None = None
        self._loop: Loop | None = None
        self._opens = 0
        self._listing: Listing | None = None
        self._tools: tuple[Tool, ...] = ()
        self._instructions = ""

    def __repr__(self) -> str:
        # Neither its variables nor its headers, which may be secret.
        return f"<MCPServer {self._name!r}>"

    @classmethod
    def stdio(
        cls,
        command: str,
        args: Iterable[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        stderr: TextIO | int | None = None,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> Self:
        """A server that is started as a process of ours, and ended with the connection.

        Args:
            command: The program.
            args: Its arguments.
            env: Variables that it gets besides the few that are safe to hand on, such as `PATH` and `HOME`.
            cwd: Its working folder.
            stderr: Where its stderr goes: a file, or `subprocess.DEVNULL`; default: to ours.
            name: What errors call it; default: the name of the program.
            options: The others of `MCPServer`.

        Raises:
            TypeError: One of them is of the wrong kind, such as one text for `args`.
        """
        of = "MCPServer.stdio"
        NAME.check("command", command, of=of)
        or_none(instance((str, Path), "a path")).check("cwd", cwd, of=of)
        Wanted(LIST.accepts, "a list of texts").check("args", args, of=of)
        _check_secret(f"{of}(env=…)", env)
        way = StdioCommand(command=command, args=tuple(args), env=env, cwd=cwd, stderr=stderr)
        return cls(way, name=Path(command).name if name is None else name, **options)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> Self:
        """A server that is reached by streamable HTTP.

        Args:
            url: Its address.
            headers: What every request carries besides, such as `{"Authorization": "Bearer …"}`.
            name: What errors call it; default: the host.
            options: The others of `MCPServer`.

        Raises:
            TypeError: One of them is of the wrong kind.
            ValueError: The address is none of HTTP.
        """
        TEXT.check("url", url, of="MCPServer.http")
        _check_secret("MCPServer.http(headers=…)", headers)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"MCPServer.http({url!r}): it is an address such as https://host/mcp")
        way = HttpAddress(url=url, headers=headers)
        return cls(way, name=parts.hostname or url if name is None else name, **options)

    @property
    def name(self) -> str:
        """What errors and logs call it."""
        return self._name

    @property
    def source(self) -> str:
        return f"MCP server {self._name!r}"

    @property
    def opened(self) -> bool:
        return self._opens > 0 and self._loop == current_loop()

    @property
    def instructions(self) -> str:
        return self._instructions

    @property
    def tools(self) -> tuple[Tool, ...]:
        if self._connection is None:
            raise RuntimeError(
                f"{self.source} is not open: enter the engine that has it, by async with"
            )
        return self._tools

    async def open(self) -> None:
        """Connect and list the tools; a second opening shares the connection.

        Raises:
            MCPUnavailable: The server cannot be started or reached, or is not ready in time.
            MCPInvalid: What it says breaks the protocol, or a tool cannot be taken.
            RuntimeError: It is open in another event loop.
        """
        loop = current_loop()
        if self._connection is not None:
            if loop != self._loop:
                raise RuntimeError(
                    f"{self.source} is open in another event loop; make one for each of them"
                )
            await self._connection.client()
        else:
            connection = Connection(
                self._name,
                self._way,
                timeout=self._connect_timeout,
                reconnect=self._reconnect,
                take=self._take,
            )
            self._connection, self._loop = connection, loop
            try:
                await connection.open(loop)
            except BaseException:
                self._forget()
                raise
        self._opens += 1

    async def close(self) -> None:
        """Disconnect, when it was closed as often as it was opened; a process of ours has ended then."""
        if self._opens == 0:
            return
        self._opens -= 1
        if self._opens == 0 and self._connection is not None:
            connection = self._connection
            self._forget()
            await connection.close()

    def _forget(self) -> None:
        self._connection = self._loop = self._listing = None
        self._tools = ()

    def _take(self, listing: Listing) -> None:
        """Make tools of what the server offers. What cannot be taken is refused at first, and left out later."""
        if listing == self._listing:
            return
        made: dict[str, Tool] = {}
        problems: list[str] = []
        for offered in listing.tools:
            if self._wanted is not None and offered.name not in self._wanted:
                continue
            try:
                tool = self._made(offered)
            except ValueError as error:
                problems.append(str(error))
                continue
            if tool is not None and made.setdefault(tool.id, tool) is not tool:
                problems.append(f"two of its tools have the id {tool.id!r}")
        if self._listing is None:
            missing = (self._wanted or frozenset()) - {offered.name for offered in listing.tools}
            if missing:
                has = ", ".join(sorted(offered.name for offered in listing.tools)) or "none"
                problems.append(f"it has no tool {min(missing)!r}; its tools are: {has}")
            if problems:
                raise MCPInvalid(self._name, "; ".join(problems))
        self._warn(problems if listing.tools else ["it offers no tools"])
        self._listing = listing
        self._instructions = listing.instructions
        self._tools = tuple(made.values())

    def _warn(self, problems: list[str]) -> None:
        if problems:
            import structlog

            log = structlog.get_logger("agentflow").bind(server=self._name)
            for problem in problems:
                log.warning("an MCP server offers less than it should", reason=problem)

    def _made(self, offered: types.Tool) -> Tool | None:
        async def handler(arguments: dict[str, Any], ctx: ToolContext) -> Any:
            connection = self._connection
            if connection is None:
                raise MCPUnavailable(self._name, "it is closed")
            return await call_tool(self._name, connection, offered, arguments, ctx)

        tool = foreign_tool(
            offered,
            handler,
            id=tool_id(offered.name, self._prefix),
            source=self.source,
            timeout=self._timeout,
            retries=min(self._reconnect.attempts, 1),
        )
        return tool if self._adapt is None else self._adapt(tool)


def _check_secret(where: str, mapping: object) -> None:
    """Refuse what is no mapping, without telling it: its values may be secret."""
    if not (mapping is None or isinstance(mapping, Mapping)):
        raise TypeError(f"{where}: it is a mapping, and not {type(mapping).__name__}")
