"""The events of a stream, kept in order for any number of readers; whoever makes them waits until one is wanted."""

from __future__ import annotations

import math
from typing import Any, Self

import anyio

__all__ = ["EventLog", "EventReader"]


class EventLog:
    """What was handed out so far.

    An event is taken only when a reader has read all before it and wants more, so a slow reader slows the model. When the end
    is wanted (`drive`), nobody has to read.

    Attributes:
        ended: Whether nothing more will come.
    """

    __slots__ = ("_changed", "_events", "_wanted", "ended")

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._wanted: float = 0
        self._changed = anyio.Event()
        self.ended = False

    def begin(self, first: Any) -> None:
        """Take the first event, which nobody has to want."""
        self._events.append(first)

    async def put(self, event: Any) -> None:
        """Take the next event, when somebody wants it."""
        while self._wanted <= len(self._events):
            await self._changed.wait()
        self._events.append(event)
        self._tell()

    def end(self, last: Any) -> None:
        """Take the last event, whether somebody wants it or not."""
        self._events.append(last)
        self.ended = True
        self._tell()

    def drive(self) -> None:
        """Want everything up to the end."""
        self._want(math.inf)

    def read(self) -> EventReader:
        """The events from the first, as they come; several readers each get all of them."""
        return EventReader(self)

    async def event(self, at: int) -> Any:
        """The event at a place, from 0, when it has come.

        Raises:
            StopAsyncIteration: There will be none.
        """
        while at >= len(self._events):
            if self.ended:
                raise StopAsyncIteration
            self._want(at + 1)
            await self._changed.wait()
        return self._events[at]

    def so_far(self) -> tuple[Any, ...]:
        """The events up to now."""
        return tuple(self._events)

    def _want(self, number: float) -> None:
        if number > self._wanted:
            self._wanted = number
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class EventReader:
    """Reads a log from its beginning. Not a generator: it can be left at any place, and nobody has to close it."""

    __slots__ = ("_at", "_log")

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._at = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        event = await self._log.event(self._at)
        self._at += 1
        return event
