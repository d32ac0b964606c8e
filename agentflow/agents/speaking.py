"""Whose words are the text of a call: those of the agent that was asked, until the conversation is handed to another one."""

from __future__ import annotations

from typing import Any

from agentflow.agents.child_run import ChildSink
from agentflow.agents.events import FinishEvent, HandoffEvent, StartEvent, SubAgentEvent

__all__ = ["Speaker", "SpeakingSink"]


class Speaker:
    """Follows the events of a stream, and picks out those of whoever speaks."""

    __slots__ = ("_path",)

    def __init__(self) -> None:
        self._path: tuple[str, ...] = ()

    def heard(self, event: Any) -> Any | None:
        """The event, without the path that leads to whoever speaks; `None` for one of somebody else."""
        below = isinstance(event, SubAgentEvent)
        if not below and not self._path:
            if isinstance(event, HandoffEvent):
                self._path = (event.agent,)
            return event
        path, inner = (event.path, event.event) if below else ((), event)
        if path == self._path:
            if isinstance(inner, HandoffEvent):
                self._path = (*path, inner.agent)
            elif isinstance(inner, FinishEvent) and inner.error is not None:
                # It has failed, and whoever had handed over goes on.
                self._path = path[:-1]
            return inner
        if not below and isinstance(event, StartEvent):
            # The next turn of a stream, which begins with the agent that was asked.
            self._path = ()
            return event
        return None


class SpeakingSink(ChildSink):
    """Where the answer of an agent goes that has taken over: to where its caller's goes, past those who have a say there.

    Attributes:
        refused: What the caller's own sink, or somebody who has a say there, has raised, if anything.
    """

    refused: Exception | None = None

    async def send(self, chunk: Any) -> None:
        """Hand a chunk on, if it passes."""
        await self.speak(chunk, ())

    async def speak(self, chunk: Any, path: tuple[str, ...]) -> None:
        """Hand on a chunk of an agent below, or its own, if it passes."""
        passed = await self._passed(chunk)
        if passed is None:
            return
        speak = getattr(self._parent, "speak", None)
        try:
            if speak is None:
                await self._parent.send(passed)
            else:
                await speak(passed, (self._name, *path))
        except Exception as error:
            self.refused = error
            raise

    async def tell(self, event: Any) -> None:
        """Hand an event on, if anybody takes any."""
        if getattr(self._parent, "tell", None) is not None:
            await super().tell(event)
