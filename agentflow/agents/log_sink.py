"""The sink of a streamed call: what is said goes into the log of its events, past those who have a say in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.agents.event_log import EventLog
from agentflow.agents.events import StepEvent, SubAgentEvent
from agentflow.agents.filtered_sink import FilteredSink
from agentflow.agents.speaking import Speaker
from agentflow.messages.chunk import TextChunk

if TYPE_CHECKING:
    from agentflow.run.ports import Sink

__all__ = ["LogSink"]


class LogSink(FilteredSink):
    """The sink of a streamed call: everything goes into the log, and to the caller's own sink before.

    Args:
        log: The log.
        caller: The caller's own sink.
    """

    def __init__(self, log: EventLog, caller: Sink | None) -> None:
        super().__init__()
        self._log: EventLog | None = log
        self._caller = caller

    def close(self) -> None:
        """Let nothing through any more, and lead back to nobody: the run of the call has this as its sink."""
        self._log = self._filter = None

    async def send(self, chunk: Any) -> None:
        """Take a chunk."""
        passed = await self._passed(chunk)
        if passed is not None:
            await self._put(passed, passed)

    async def speak(self, chunk: Any, path: tuple[str, ...]) -> None:
        """Take a chunk of an agent that has taken over."""
        passed = await self._passed(chunk)
        if passed is not None:
            await self._put(passed, SubAgentEvent(path=path, event=passed))

    async def _put(self, chunk: Any, event: Any) -> None:
        if self._log is None:
            return
        if self._caller is not None:
            await self._caller.send(chunk)
        await self._log.put(event)

    async def tell(self, event: Any) -> None:
        """Take another event."""
        await self._released()
        if self._log is not None:
            await self._log.put(event)

    @property
    def text_so_far(self) -> str:
        """What was handed out of the answer that is under way."""
        text, speaker = "", Speaker()
        for event in map(speaker.heard, () if self._log is None else self._log.so_far()):
            if isinstance(event, StepEvent):
                text = ""
            elif isinstance(event, TextChunk):
                text += event.text
        return text
