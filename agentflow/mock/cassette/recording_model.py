"""The recording model: a real one, whose exchanges are kept in a cassette."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentflow.messages.chunk import Chunk
from agentflow.messages.message import Message
from agentflow.mock.cassette.answered import answer_of
from agentflow.mock.cassette.asked import asked_of
from agentflow.mock.cassette.tape import Exchange, Tape, write_tape
from agentflow.mock.cassette.text import Scrub
from agentflow.mock.cassette.ways import digest_of
from agentflow.mock.stream import opened
from agentflow.mock.wire.gathering import Gathering
from agentflow.models.answer_form import StructuredWay
from agentflow.models.ports import ModelContext, Provider

__all__ = ["KNOWN", "RecordingModel"]

KNOWN = ("name", "reports", "vendor", "model")
"""What is to be known of a provider besides its answers and how it is asked for objects."""


class RecordingModel:
    """A provider that passes everything on to another, and keeps each exchange in a readable file.

    `ReplayingModel` plays it again. The file is made anew with the first exchange and is whole after each one: errors, answers
    that broke off and answers that nobody wanted to the end are kept too. Keys and addresses are not: they are the provider's
    own, and it is recorded what it is asked and answers.

    Args:
        provider: Who really answers.
        path: The file, `.json`; its folder must be there.
        scrub: Is given every text of requests and answers, and gives what is to be kept of it: without secrets, or with a
            fixed date in place of today's. Give the same function to `ReplayingModel`.

    Raises:
        ValueError: The file is named otherwise.
    """

    def __init__(
        self, provider: Provider, path: str | os.PathLike[str], *, scrub: Scrub = str
    ) -> None:
        self._provider = provider
        self._path = Path(path)
        if self._path.suffix != ".json":
            raise ValueError(f"RecordingModel({provider!r}, {str(path)!r}): name the file .json")
        self._scrub = scrub
        self._exchanges: list[Exchange | None] = []
        self._ways: dict[str, StructuredWay] = {}

    def structured(self, schema: Mapping[str, Any]) -> StructuredWay:
        """How the provider gets answers that keep to a schema; kept too, because requests depend on it."""
        way: Any = getattr(self._provider, "structured", "prompt")
        found: StructuredWay = way(schema) if callable(way) else way
        self._ways[digest_of(schema)] = found
        return found

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """Ask the provider, and keep what it answers."""
        request = asked_of(messages, context, self._scrub)
        place = len(self._exchanges)
        self._exchanges.append(None)
        gathered, failed = Gathering(), None
        try:
            async with opened(self._provider, messages, context) as chunks:
                async for chunk in chunks:
                    gathered.add(chunk)
                    yield chunk
        except Exception as error:
            failed = error
            raise
        finally:
            answer = answer_of(gathered, failed, self._scrub)
            self._exchanges[place] = Exchange(request, answer)
            self._write()

    def _write(self) -> None:
        known = {name: getattr(self._provider, name, None) for name in KNOWN}
        provider: dict[str, Any] = {
            name: sorted(value) if isinstance(value, frozenset | set) else value
            for name, value in known.items()
            if isinstance(value, str | frozenset | set)
        }
        if self._ways:
            provider["structured"] = dict(self._ways)
        done = tuple(exchange for exchange in self._exchanges if exchange is not None)
        write_tape(self._path, Tape(provider, done))

    def __getattr__(self, name: str) -> Any:
        # Whatever else a provider may have, such as its name and the figures that it reports.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._provider, name)

    def __repr__(self) -> str:
        return f"<RecordingModel of {self._provider!r} in {str(self._path)!r}>"
