"""The lines of stdin, read so that nobody has to wait for the next one when they want to stop."""

from __future__ import annotations

import math
import os
import sys
import threading
from functools import partial
from types import TracebackType
from typing import Final, Self

import anyio

from agentflow.run.loop import current_loop

__all__ = ["LineReader"]

_AT_ONCE: Final = 1 << 16


class LineReader:
    """An async iterator of the lines of stdin, as text; to be entered first. Meanwhile everybody else finds stdin empty.

    A thread that waits for input cannot be interrupted. This one is left behind, on a handle that is its own, so that neither
    a cancel nor the end of the process waits for it.
    """

    __slots__ = ("_handle", "_loop", "_place", "_receive", "_send", "_thread")

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](math.inf)

    async def __aenter__(self) -> Self:
        self._loop = current_loop()
        self._place = sys.stdin.fileno()
        self._handle = os.dup(self._place)
        # What a node starts must not read what was meant for us.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self._place)
        os.close(nothing)
        self._thread = threading.Thread(target=self._read, name="agentflow stdin", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._send.close()
        self._receive.close()
        os.dup2(self._handle, self._place)
        if not self._thread.is_alive():
            os.close(self._handle)

    def _read(self) -> None:
        # Not by `sys.stdin`, whose lock the interpreter wants when it ends.
        rest = b""
        while data := os.read(self._handle, _AT_ONCE):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._loop.post(partial(self._put, line))
        self._loop.post(self._send.close)

    def _put(self, line: bytes) -> None:
        try:
            self._send.send_nowait(line)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # Nobody reads any more.
            return

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        try:
            return (await self._receive.receive()).decode("utf-8", "replace")
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
