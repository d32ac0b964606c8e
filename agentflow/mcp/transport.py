"""The ways to a server: a process of ours, spoken to over its pipes, or an address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, TextIO, cast

from agentflow.mcp.sdk import (
    StdioServerParameters,
    httpx2,
    stdio_client,
    streamable_http_client,
)

__all__ = ["HttpAddress", "StdioCommand", "Way", "watched"]

Streams = tuple[Any, Any]

_CONNECT: Final = 30.0
"""Seconds in which a server must take a connection and what is sent to it."""


class Way(Protocol):
    """How a server is reached; used anew for every connection."""

    def connect(self) -> AbstractAsyncContextManager[Streams]:
        """The streams of a new connection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StdioCommand:
    """A server that is a process of ours.

    Args:
        command: The program.
        args: Its arguments.
        env: Variables that it gets besides the few that are safe to hand on, such as `PATH` and `HOME`.
        cwd: Its working folder.
        stderr: Where its stderr goes: a file, or `subprocess.DEVNULL`; `None` for ours.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    cwd: str | Path | None = None
    stderr: TextIO | int | None = None

    def connect(self) -> AbstractAsyncContextManager[Streams]:
        parameters = StdioServerParameters(
            command=self.command,
            args=list(self.args),
            env=None if self.env is None else dict(self.env),
            cwd=self.cwd,
        )
        stderr = _ours() if self.stderr is None else self.stderr
        # The SDK hands it to the process as it is, which takes numbers too.
        return stdio_client(parameters, errlog=cast("TextIO", stderr))


def _ours() -> TextIO | int:
    """Our own stderr, where it is one that a process can be given."""
    try:
        sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL
    return sys.stderr


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HttpAddress:
    """A server that is reached by streamable HTTP.

    Args:
        url: Its address.
        headers: What every request carries besides, such as an authorisation.
    """

    url: str
    headers: Mapping[str, str] | None = None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Streams]:
        headers = None if self.headers is None else dict(self.headers)
        # How long an answer may take is for each tool to say, and a stream of news is silent for as long as there are none.
        timeout = httpx2.Timeout(_CONNECT, read=None)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams


@asynccontextmanager
async def watched(way: Way, ended: Callable[[], object]) -> AsyncIterator[Streams]:
    """The streams of a new connection; `ended` is called when the server says no more, as when its process has gone."""
    async with way.connect() as (read, write):
        yield _Watched(read, ended), write


class _Watched:
    """A stream that tells when it ends."""

    __slots__ = ("_ended", "_inner")

    def __init__(self, inner: Any, ended: Callable[[], object]) -> None:
        self._inner = inner
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return await self._inner.receive()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._ended()
            raise

    async def __aenter__(self) -> _Watched:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        ended: bool | None = await self._inner.__aexit__(kind, error, trace)
        return ended
