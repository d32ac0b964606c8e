"""The caller's own sink, which gets no more than those who stand around the call let pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.agents.chunk_filter import ChunkFilter
    from agentflow.run.ports import Sink

__all__ = ["CallerSink"]


class CallerSink:
    """Where a call that is waited for says what it says while it works.

    Args:
        caller: The caller's own sink; it gets events too if it takes any.
    """

    def __init__(self, caller: Sink) -> None:
        self._caller: Sink | None = caller
        self._filter: ChunkFilter | None = None

    def open(self, filter: ChunkFilter) -> None:
        """Say what chunks pass."""
        self._filter = filter

    def release(self) -> None:
        """Let out what is held, and everything after it."""
        if self._filter is not None:
            self._filter.release()

    def close(self) -> None:
        """Let nothing through any more, and lead back to nobody: the run of the call has this as its sink."""
        self._caller = self._filter = None

    async def send(self, chunk: Any) -> None:
        """Hand a chunk on, if it passes."""
        passed = chunk if self._filter is None else await self._filter.take(chunk)
        if passed is not None and self._caller is not None:
            await self._caller.send(passed)

    @property
    def tell(self) -> Callable[[Any], Awaitable[None]] | None:
        """Takes an event; `None` if the caller takes none."""
        take = getattr(self._caller, "tell", None)
        if take is None:
            return None

        async def tell(event: Any) -> None:
            if self._filter is not None:
                await self._filter.released()
            await take(event)

        return tell
