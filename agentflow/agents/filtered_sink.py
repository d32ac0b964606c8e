"""What the sinks of agents have in common: nothing is handed out past those who have a say in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.agents.chunk_filter import ChunkFilter

__all__ = ["FilteredSink"]


class FilteredSink:
    """A sink that hands on what passes its filter, once it has been told of one; until then, everything."""

    def __init__(self) -> None:
        self._filter: ChunkFilter | None = None

    def open(self, filter: ChunkFilter) -> None:
        """Say what chunks pass."""
        self._filter = filter

    def release(self) -> None:
        """Let out what is held, and everything after it."""
        if self._filter is not None:
            self._filter.release()

    async def _passed(self, chunk: Any) -> Any | None:
        """The chunk as it is handed on, when it may be; `None` for one that is left out."""
        return chunk if self._filter is None else await self._filter.take(chunk)

    async def _released(self) -> None:
        """Wait until something may be handed on."""
        if self._filter is not None:
            await self._filter.released()
