"""What every wire format has: a way to read what is asked, to write what is answered, and to say that something is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.fields import Fields
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.event import Event
from agentflow.mock.wire.gathering import Gathering

__all__ = ["Answer", "Dialect", "Stamp", "Wrong"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What an answer is marked with: its number on the server, from 1, and the time in seconds since 1970."""

    number: int
    created: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """Something that is wrong, to be told in a format's own words.

    Args:
        status: The HTTP status.
        message: What is wrong.
        kind: Its `type`, in place of the format's own one for the status.
        code: What the error is called, where a format has room for that.
        param: The place of it in the body.
    """

    status: int
    message: str
    kind: str | None = None
    code: str | None = None
    param: str | None = None


class Answer(Protocol):
    """One answer in one format. Events are asked for in order: `begin`, `add` for each chunk, `end`; or `whole` at the end."""

    gathered: Gathering

    def begin(self) -> Iterable[Event]:
        """What comes before any content."""
        ...

    def add(self, chunk: Chunk) -> Iterable[Event]:
        """Take a chunk, and say it."""
        ...

    def end(self) -> Iterable[Event]:
        """What comes after a whole answer."""
        ...

    def whole(self) -> Mapping[str, Any]:
        """The body of the answer when it is not streamed."""
        ...

    def failed(self, wrong: Wrong) -> Iterable[Event]:
        """What is said when the model fails in mid-stream."""
        ...

    def broken(self) -> Event:
        """An event whose data is no JSON, but would be with more of it."""
        ...


class Dialect(Protocol):
    """One wire format."""

    def asked(self, body: Fields) -> Asked:
        """What a body asks for.

        Raises:
            FormatError: It is not what the format says.
        """
        ...

    def answer(self, asked: Asked, stamp: Stamp) -> Answer:
        """The answer, before its first chunk."""
        ...

    def wrong(self, wrong: Wrong) -> Mapping[str, Any]:
        """The body that tells what is wrong."""
        ...
