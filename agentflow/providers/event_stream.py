"""Server-sent events, read from bytes however they are cut.

The SDKs read them too, but hide the frame that ends a stream: without it a stream that was cut looks whole. Behaviour from
the HTML standard, section "Server-sent events", of which vendors use `event` and `data`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import anyio

from agentflow.errors import ModelError

__all__ = ["Event", "EventReader", "events_of", "read_to_end"]

_ENDING: Final = 0.1
"""Seconds that a server gets to end the body when the answer has ended."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, empty if it has none, and its data."""

    name: str
    data: str

    def json(self) -> Any:
        """The data, read as JSON.

        Raises:
            ModelError: It is none.
        """
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError) as error:
            shown = self.data if len(self.data) <= 200 else f"{self.data[:197]}..."
            raise ModelError(f"the provider sent {shown!r}, which is no JSON: {error}") from error


class EventReader:
    """Bytes in, events out. An event that its last line does not end is never told."""

    __slots__ = ("_after_return", "_data", "_line", "_name", "_started")

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_return = False
        self._started = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that the piece completes."""
        if not piece:
            return
        # The line feed of a pair that was cut in two ends no second line.
        at = int(self._after_return and piece[:1] == b"\n")
        self._after_return = piece.endswith(b"\r")
        for end in _LINE_END.finditer(piece, at):
            self._line += piece[at : end.start()]
            at = end.end()
            line = bytes(self._line)
            self._line.clear()
            event = self._take(line)
            if event is not None:
                yield event
        self._line += piece[at:]

    def _take(self, line: bytes) -> Event | None:
        text = line.decode("utf-8", "replace")
        if not self._started:
            self._started = True
            text = text.removeprefix("\ufeff")
        if not text:
            return self._dispatch()
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        # A line that begins with a colon is a comment, which keeps the connection alive.
        match field:
            case "data":
                self._data.append(value)
            case "event":
                self._name = value
        return None

    def _dispatch(self) -> Event | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return Event(name, "\n".join(data)) if data else None


class Body(Protocol):
    """What HTTP clients have in common."""

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        """The body in pieces."""
        ...

    async def aclose(self) -> None:
        """Give the connection back, whatever has come."""
        ...


async def read_to_end(events: AsyncIterable[Event]) -> None:
    """Read what follows the end of an answer, which is nothing: only a connection that was read to its end is used again.

    A server that does not end the body is not waited for.
    """
    with anyio.move_on_after(_ENDING):
        async for _ in events:
            pass


async def events_of(body: Body) -> AsyncGenerator[Event, None]:
    """The events of the body of a response, which is closed with them."""
    reader = EventReader()
    pieces = body.aiter_bytes()
    try:
        async for piece in pieces:
            for event in reader.feed(piece):
                yield event
    finally:
        await body.aclose()
        # Below it are more generators than close each other, and trio minds one that is left in the middle. On a closed
        # connection they come to their end by themselves.
        with suppress(Exception):
            async for _ in pieces:
                pass
