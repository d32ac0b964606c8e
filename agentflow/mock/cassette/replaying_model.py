"""The replaying model: answers what was recorded, to what was asked then, and to nothing else."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import anyio.lowlevel

from agentflow.messages.chunk import Chunk
from agentflow.messages.message import Message
from agentflow.mock.cassette.answered import chunks_of, failure_of
from agentflow.mock.cassette.asked import asked_of
from agentflow.mock.cassette.drift import RepliesUnused, drift_of, is_same, title_of
from agentflow.mock.cassette.tape import Exchange, read_tape
from agentflow.mock.cassette.text import Scrub
from agentflow.mock.cassette.ways import digest_of
from agentflow.mock.chunking import Chunking
from agentflow.models.answer_form import StructuredWay
from agentflow.models.ports import ModelContext

__all__ = ["ReplayingModel"]


class ReplayingModel:
    """A provider that answers from a cassette, strictly.

    A request is answered when it is one that was recorded, in everything but the ids of runs and calls. Each recorded answer is
    given once; among equal requests they come in the order in which they were recorded, and requests that are not equal may
    come in any order. ::

        with ReplayingModel("tests/refund.json") as model:
            workflow.run_sync(order, model=model)

    As a context manager it raises at the end when recorded answers were not asked for.

    Args:
        path: The cassette.
        scrub: What `RecordingModel` was given.
        chunking: How answers are cut into chunks.

    Raises:
        SpecError: The file cannot be read, or is no cassette.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scrub: Scrub = str,
        chunking: Chunking | None = None,
    ) -> None:
        self._path = os.fspath(path)
        tape = read_tape(path)
        self._left = list(tape.exchanges)
        self._total = len(tape.exchanges)
        self._scrub = scrub
        self._chunking = Chunking() if chunking is None else chunking
        self.name = str(tape.provider.get("name", "replaying"))
        self.reports = frozenset(tape.provider.get("reports", ()))
        for name in ("vendor", "model"):
            if name in tape.provider:
                setattr(self, name, tape.provider[name])
        self._ways: Mapping[str, StructuredWay] = tape.provider.get("structured", {})

    def structured(self, schema: Mapping[str, Any]) -> StructuredWay:
        """How the recorded provider got answers that keep to this schema."""
        return self._ways.get(digest_of(schema), "prompt")

    @property
    def unused(self) -> tuple[str, ...]:
        """The requests whose recorded answers nobody has asked for, in a line each."""
        return tuple(title_of(exchange.request) for exchange in self._left)

    def check_used(self) -> None:
        """See to it that everything was asked for that was recorded.

        Raises:
            RepliesUnused: It was not.
        """
        if self._left:
            listed = "".join(f"\n  {title}" for title in self.unused)
            raise RepliesUnused(
                f"{len(self._left)} of {self._total} recorded replies in {self._path} were not asked for:{listed}"
            )

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The recorded answer, in chunks, and its error if it ended in one.

        Raises:
            CassetteDrifted: No recorded request is this one.
        """
        answer = self._taken(messages, context).answer
        for chunk in chunks_of(answer, self._chunking):
            await anyio.lowlevel.checkpoint()
            yield chunk
        if error := answer.get("error"):
            raise failure_of(error)

    def _taken(self, messages: Sequence[Message], context: ModelContext) -> Exchange:
        asked = asked_of(messages, context, self._scrub)
        for place, exchange in enumerate(self._left):
            if is_same(exchange.request, asked):
                return self._left.pop(place)
        raise drift_of(asked, self._left, self._total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Another error is the reason why not everything was asked for.
        if error is None:
            self.check_used()

    def __repr__(self) -> str:
        return f"<ReplayingModel {self._path!r}, {len(self._left)} of {self._total} replies left>"
