"""The connection to one server, from its opening to its close: owned by one task, lost and made anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import anyio

from agentflow.mcp.failure import MCPInvalid, MCPServerError, MCPUnavailable
from agentflow.mcp.listing import Listing, hear_news, listed
from agentflow.mcp.reconnect import Reconnect
from agentflow.mcp.sdk import NAME, Client, MCPError, types
from agentflow.mcp.transport import Way, watched
from agentflow.run.detached import Detached
from agentflow.run.loop import Loop, wait_out

__all__ = ["Connection"]


class Connection:
    """A connection that is kept: opened once, and made anew when it is lost.

    The SDK's cancel scopes must be left by the task that entered them. So one task does both, whoever opens and closes; calls
    are made from where they come.

    Args:
        name: The server's name, for errors.
        way: How it is reached.
        timeout: Seconds that it gets to be ready, and to list its tools.
        reconnect: What is done when it is gone.
        take: Is given what the server offers whenever that is listed. When it raises an `MCPServerError`, the connection is
            not made.
    """

    def __init__(
        self,
        name: str,
        way: Way,
        *,
        timeout: float,
        reconnect: Reconnect,
        take: Callable[[Listing], None],
    ) -> None:
        self._name = name
        self._way = way
        self._timeout = timeout
        self._reconnect = reconnect
        self._take = take
        self._client: Client | None = None
        self._failed: MCPServerError | None = None
        self._owner: Detached | None = None
        # What the owner heeds, and what wakes it.
        self._lost = self._stale = self._wanted = self._closing = False
        self._wake = anyio.Event()
        # What wakes those who wait for a client.
        self._turned = anyio.Event()
        # What the owner waits for and need not, once the connection is to be closed.
        self._busy: anyio.CancelScope | None = None

    async def open(self, loop: Loop) -> None:
        """Connect and list the tools.

        Raises:
            MCPServerError: That cannot be done.
        """
        self._owner = Detached(loop, self._own)
        try:
            await self._turned.wait()
            if self._failed is not None:
                raise self._failed
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let the server go, and wait until it has gone; no cancel cuts that short."""
        self._closing = True
        self._wake.set()
        if self._busy is not None:
            self._busy.cancel()
        if self._owner is not None:
            await wait_out(self._owner.done)

    async def client(self) -> Client:
        """The client of the connection; while that is made anew, it is waited for.

        Raises:
            MCPUnavailable: It could not be made.
        """
        asked = False
        while self._client is None or self._lost:
            if self._closing:
                raise MCPUnavailable(self._name, "it is closed")
            if self._failed is not None:
                if asked or not self._reconnect.attempts:
                    text = f"it is gone, and could not be reached again: {self._failed.reason}"
                    raise MCPUnavailable(self._name, text) from self._failed
                asked = self._wanted = True
                self._wake.set()
            await self._turned.wait()
        return self._client

    def lose(self, client: Client) -> None:
        """Tell that a call has found the connection of `client` gone."""
        if client is self._client:
            self._ended()

    def _ended(self) -> None:
        self._lost = True
        self._wake.set()

    def _outdate(self) -> None:
        self._stale = True
        self._wake.set()

    async def _hear(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._outdate()

    def _turn(self, client: Client | None, failed: MCPServerError | None = None) -> None:
        """Come into another state, and wake those who wait for one."""
        self._client, self._failed = client, failed
        turned, self._turned = self._turned, anyio.Event()
        turned.set()

    async def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _own(self) -> None:
        """Connect, and again whenever the connection is lost, until it is closed."""
        number = left = 1
        try:
            while not self._closing:
                with anyio.CancelScope() as self._busy:
                    await anyio.sleep(self._reconnect.delay(number))
                was_up, why = await self._live()
                number, left = (1, self._reconnect.attempts) if was_up else (number + 1, left - 1)
                if left:
                    self._turn(None)
                    continue
                self._turn(None, why)
                await self._until(lambda: self._wanted or self._closing)
                self._turn(None)
                self._wanted = False
                number = left = 1
        finally:
            self._closing = True
            self._turn(None)

    async def _live(self) -> tuple[bool, MCPServerError]:
        """One connection from its first to its last moment: whether it was ever there, and why it is not any more."""
        self._lost = self._stale = False
        was_up = False
        why: MCPServerError | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._timeout) as scope:
                self._busy = scope
                async with self._made() as client, anyio.create_task_group() as group:
                    # First the news, then the list: so no change falls between them.
                    await group.start(hear_news, client, self._outdate)
                    try:
                        self._take(await listed(self._name, client))
                    except MCPServerError as error:
                        # Out of the block it would come in a bundle.
                        why = error
                    else:
                        scope.deadline, self._busy, was_up = math.inf, None, True
                        self._turn(client)
                        await self._attend(client)
                    group.cancel_scope.cancel()
        except Exception as error:
            why = self._reason(error, was_up)
        finally:
            self._busy = None
        if why is None and was_up:
            why = MCPUnavailable(self._name, "the connection was lost")
        elif why is None:
            text = f"it was not ready within {self._timeout:g} s"
            why = MCPUnavailable(self._name, text)
        return was_up, why

    def _made(self) -> Client:
        # Lists are asked for only when they have changed; a cache could only tell an old one.
        return Client(
            watched(self._way, self._ended),
            message_handler=self._hear,
            client_info=NAME,
            cache=None,
        )

    async def _attend(self, client: Client) -> None:
        """Stay until the connection is lost or to be closed, and list the tools again when they have changed."""
        while not (self._lost or self._closing):
            if self._stale:
                self._stale = False
                await self._refresh(client)
            else:
                await self._until(lambda: self._lost or self._closing or self._stale)

    async def _refresh(self, client: Client) -> None:
        try:
            with anyio.move_on_after(self._timeout) as self._busy:
                self._take(await listed(self._name, client))
                return
            reason = f"it did not answer within {self._timeout:g} s"
        except MCPServerError as error:
            reason = error.reason
        finally:
            self._busy = None
        if not (self._lost or self._closing):
            import structlog

            structlog.get_logger("agentflow").warning(
                "the tools of an MCP server are not up to date", server=self._name, reason=reason
            )

    def _reason(self, error: Exception, was_up: bool) -> MCPServerError:
        """What ended a connection, or kept it from being made, in our words."""
        inner: BaseException = error
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        made: MCPServerError
        if isinstance(inner, MCPError) and inner.code == types.CONNECTION_CLOSED:
            ended = "the connection was lost" if was_up else "it ended before it was ready"
            made = MCPUnavailable(self._name, ended)
        elif isinstance(inner, MCPError | RuntimeError | ValueError):
            # What the SDK raises for a server that speaks otherwise than the protocol says.
            made = MCPInvalid(self._name, str(inner))
        else:
            text = f"it cannot be reached: {type(inner).__name__}: {inner}"
            made = MCPUnavailable(self._name, text)
        made.__cause__ = inner
        return made
