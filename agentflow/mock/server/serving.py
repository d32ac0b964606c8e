"""Serving: which model answers on a mock server, and everything that its answers have in common."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agentflow.messages.chunk import UsageChunk
from agentflow.messages.message import Message
from agentflow.mock.chunking import Chunking
from agentflow.mock.reply import MockReply
from agentflow.mock.request import MockRequest
from agentflow.mock.usage import Usage, usage_of, words_of
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.dialect import Stamp
from agentflow.mock.wire.gathering import Gathering
from agentflow.models.ports import Provider
from agentflow.run.ports import Clock
from agentflow.run.signal import CancelSignal

__all__ = ["Served", "Serving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request, as it came over the wire.

    Args:
        method: The HTTP method.
        path: The path.
        headers: The headers, with names in lower case.
        body: The JSON body; `None` where there is none that can be read.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What the answers of a server have in common.

    Args:
        model: Who answers.
        names: Under which names it is listed.
        usage: The figures that are told where the model tells none.
        blocks: How the bytes of answers are cut.
        quirks: What it does that the formats do not say.
        clock: What answers are stamped by.
        told: Is called with each request, and with how its answer begins.
        received: The latest requests.
    """

    model: Provider
    names: Sequence[str]
    usage: Usage
    blocks: Chunking | None
    quirks: frozenset[str]
    clock: Clock
    told: Callable[[Served, str], object] | None
    received: deque[Served]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def stamp(self) -> Stamp:
        """What the next answer is marked with."""
        return Stamp(next(self._numbers), self.created)

    def tell(self, served: Served, outcome: str) -> None:
        """Tell how the answer to a request begins."""
        if self.told is not None:
            self.told(served, outcome)

    @property
    def created(self) -> int:
        """Now, in seconds since 1970."""
        return int(self.clock.now().timestamp())

    def count(self, messages: Sequence[Message]) -> int:
        """How many input tokens a conversation has, as the figures of its answer will tell."""
        request = _request(Asked(model="", messages=tuple(messages)))
        usage = usage_of(getattr(self.model, "usage", None) or self.usage, request, MockReply())
        known = None if usage is None else usage.input_tokens
        return words_of(messages) if known is None else known

    def estimate(self, asked: Asked, gathered: Gathering) -> None:
        """Tell the input figures before the first word, where the model has not: some formats begin with them."""
        if not gathered.usage:
            usage = self._figures(asked, gathered)
            if usage.input_tokens is not None:
                gathered.estimated["input_tokens"] = usage.input_tokens

    def complete(self, asked: Asked, gathered: Gathering) -> None:
        """Tell the figures of a whole answer, where the model has told none."""
        if not gathered.usage:
            gathered.estimated.update(self._figures(asked, gathered).known())

    def _figures(self, asked: Asked, gathered: Gathering) -> UsageChunk:
        usage = usage_of(self.usage, _request(asked), gathered.reply())
        return UsageChunk() if usage is None else usage


def _request(asked: Asked) -> MockRequest:
    return MockRequest(asked.messages, asked.context("mock-server", CancelSignal()))
