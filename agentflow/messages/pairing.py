"""Pairing: which result belongs to which tool call, in a history of any shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall, ToolResult

__all__ = ["Pair", "Pairing", "pairing_of"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A tool call and what came of it.

    Args:
        call: The call.
        at: The number of the message that proposes it.
        result: Its result; `None` as long as there is none.
        result_at: The number of the message that carries the result.
    """

    call: ToolCall
    at: int
    result: ToolResult | None = None
    result_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The calls and results of a history, each with the number of its message.

    Args:
        pairs: Every call, in order, with its result. One that an answer says twice is there once.
        orphans: Results of calls that were never proposed before them.
        replaced: Results after which another one of the same call came.
        repeated: Calls that an answer says once more.
    """

    pairs: tuple[Pair, ...]
    orphans: tuple[tuple[int, ToolResult], ...]
    replaced: tuple[tuple[int, ToolResult], ...]
    repeated: tuple[tuple[int, ToolCall], ...]

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls without a result, in order."""
        return tuple(pair.call for pair in self.pairs if pair.result is None)


def pairing_of(messages: Sequence[Message]) -> Pairing:
    """Pair the calls with their results.

    A result belongs to the last answer before it that has called with its id: some servers number the calls of each answer
    anew. Where several results have come for one call, the last is what came of it. What looks like a call outside of an
    answer is none.
    """
    return _Matching().of(messages)


class _Matching:
    """The pairing as it grows."""

    def __init__(self) -> None:
        self._pairs: list[Pair] = []
        # The calls of the last answer that used an id, as numbers of pairs.
        self._latest: dict[str, list[int]] = {}
        self._orphans: list[tuple[int, ToolResult]] = []
        self._replaced: list[tuple[int, ToolResult]] = []
        self._repeated: list[tuple[int, ToolCall]] = []

    def of(self, messages: Sequence[Message]) -> Pairing:
        for at, message in enumerate(messages):
            if message.role == "assistant":
                self._called(at, message.tool_calls)
            for result in message.tool_results:
                self._came(at, result)
        return Pairing(
            pairs=tuple(self._pairs),
            orphans=tuple(self._orphans),
            replaced=tuple(self._replaced),
            repeated=tuple(self._repeated),
        )

    def _called(self, at: int, calls: Sequence[ToolCall]) -> None:
        own: dict[str, list[int]] = {}
        for call in calls:
            same_id = own.setdefault(call.id, [])
            if any(self._pairs[number].call == call for number in same_id):
                self._repeated.append((at, call))
                continue
            same_id.append(len(self._pairs))
            self._pairs.append(Pair(call, at))
        self._latest |= own

    def _came(self, at: int, result: ToolResult) -> None:
        numbers = self._latest.get(result.call_id)
        if not numbers:
            self._orphans.append((at, result))
            return
        number = next(self._waiting(numbers), numbers[-1])
        before = self._pairs[number]
        if before.result is not None and before.result_at is not None:
            self._replaced.append((before.result_at, before.result))
        self._pairs[number] = Pair(before.call, before.at, result, at)

    def _waiting(self, numbers: Sequence[int]) -> Iterator[int]:
        return (number for number in numbers if self._pairs[number].result is None)
