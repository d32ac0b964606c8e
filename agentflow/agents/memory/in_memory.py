"""Memories that live in an object: for tests, and for programs that forget everything at their end."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentflow.agents.memory.ports import Match
from agentflow.agents.memory.turn import Thread, Turn, messages_of, text_of

__all__ = ["InMemoryHistory", "InMemoryVectors", "InMemoryWorkingMemory"]


@dataclass(slots=True)
class _Kept:
    turns: dict[str, tuple[int, str]] = field(default_factory=dict)
    records: dict[str, list[str]] = field(default_factory=dict)


class InMemoryHistory:
    """A `ConversationHistory` in this object. What is kept goes through JSON and back, so that it is no laxer than a real one."""

    def __init__(self) -> None:
        self._threads: dict[Thread, _Kept] = {}
        self._count = 0

    async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
        kept = self._threads.get(thread, _Kept())
        latest = list(kept.turns.items())[-last:] if last else []
        return [Turn(id, messages_of(text)) for id, (_, text) in latest]

    async def append(self, thread: Thread, turn: Turn) -> None:
        text = text_of(turn.messages)
        kept = self._threads.setdefault(thread, _Kept())
        kept.records.pop(turn.id, None)
        if turn.id not in kept.turns:
            self._count += 1
            kept.turns[turn.id] = (self._count, text)

    async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
        texts = [text_of((message,)) for message in turn.messages]
        record = self._threads.setdefault(thread, _Kept()).records.setdefault(turn.id, [])
        record[at:] = texts

    async def recorded(self, thread: Thread, turn_id: str) -> Sequence[Turn]:
        record = self._threads.get(thread, _Kept()).records.get(turn_id)
        if record is None:
            return []
        return [Turn(turn_id, tuple(m for text in record for m in messages_of(text)))]

    async def find(self, resource: str, turn_ids: Sequence[str]) -> Sequence[Turn]:
        found = [
            (age, id, text)
            for thread, kept in self._threads.items()
            if thread.resource == resource
            for id, (age, text) in kept.turns.items()
            if id in turn_ids
        ]
        return [Turn(id, messages_of(text)) for _, id, text in sorted(found)]

    async def forget(self, resource: str, thread: str | None = None) -> None:
        kept = self._threads.items()
        self._threads = {of: said for of, said in kept if not of.is_of(resource, thread)}


class InMemoryWorkingMemory:
    """A `WorkingMemory` in this object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    async def get(self, resource: str) -> str | None:
        return self._texts.get(resource)

    async def put(self, resource: str, text: str) -> None:
        self._texts[resource] = json.dumps(json.loads(text), ensure_ascii=False)

    async def drop(self, resource: str) -> None:
        self._texts.pop(resource, None)


class InMemoryVectors:
    """A `VectorIndex` in this object, which compares with every vector of the resource."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[str, Thread, str], tuple[float, ...]] = {}
        self._lengths: dict[str, int] = {}

    async def add(
        self, thread: Thread, turn_id: str, vector: Sequence[float], *, model: str
    ) -> None:
        self._check(model, vector)
        self._lengths[model] = len(vector)
        self._vectors[model, thread, turn_id] = tuple(vector)

    async def search(
        self,
        resource: str,
        vector: Sequence[float],
        *,
        model: str,
        limit: int,
        thread: str | None = None,
    ) -> Sequence[Match]:
        self._check(model, vector)
        found = [
            Match(turn_id, _cosine(vector, other))
            for (of, where, turn_id), other in self._vectors.items()
            if of == model and where.resource == resource and thread in (None, where.id)
        ]
        found.sort(key=lambda match: (-match.similarity, match.turn_id))
        return found[:limit]

    async def forget(self, resource: str, thread: str | None = None) -> None:
        kept = self._vectors.items()
        self._vectors = {key: v for key, v in kept if not key[1].is_of(resource, thread)}

    def _check(self, model: str, vector: Sequence[float]) -> None:
        known = self._lengths.get(model, len(vector))
        if len(vector) != known:
            raise ValueError(
                f"a vector of {model!r} has {len(vector)} numbers, and those in the index have {known}"
            )


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
