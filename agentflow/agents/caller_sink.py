"""The caller's own sink, which gets no more than those who stand around the call let pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from agentflow.agents.filtered_sink import FilteredSink

if TYPE_CHECKING:
    from agentflow.run.ports import Sink

__all__ = ["CallerSink"]


class CallerSink(FilteredSink):
    """Where a call that is waited for says what it says while it works.

    Args:
        caller: The caller's own sink; it gets events too if it takes any.
    """

    def __init__(self, caller: Sink) -> None:
        super().__init__()
        self._caller: Sink | None = caller

    def close(self) -> None:
        """Let nothing through any more, and lead back to nobody: the run of the call has this as its sink."""
        self._caller = self._filter = None

    async def send(self, chunk: Any) -> None:
        """Hand a chunk on, if it passes."""
        passed = await self._passed(chunk)
        if passed is not None and self._caller is not None:
            await self._caller.send(passed)

    @property
    def tell(self) -> Callable[[Any], Awaitable[None]] | None:
        """Takes an event; `None` if the caller takes none."""
        take = getattr(self._caller, "tell", None)
        if take is None:
            return None

        async def tell(event: Any) -> None:
            await self._released()
            await take(event)

        return tell
