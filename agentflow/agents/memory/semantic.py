"""Semantic recall: earlier turns that mean something like what is asked, found by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

from agentflow.agents.memory.ports import Embedder, VectorIndex
from agentflow.agents.memory.turn import Thread, Turn
from agentflow.graph.argument import Wanted, check_arguments, one_of, whole, with_methods

__all__ = ["Reach", "SemanticRecall"]

Reach = Literal["resource", "thread"]
"""Where turns are looked for: in all conversations of a resource, or in the one where something is asked."""

_LEAST: Final = 0.2

_WANTED: Final = {
    "embedder": with_methods("an Embedder", "embed"),
    "index": with_methods("a VectorIndex, such as InMemoryVectors()", "add", "search"),
    "limit": whole(1),
    "least": Wanted(
        lambda value: isinstance(value, int | float) and -1 <= value <= 1,
        "a similarity, from -1 to 1",
        ValueError,
    ),
    "reach": one_of(*get_args(Reach)),
}


class SemanticRecall:
    """A `Recall` by meaning.

    Of a turn, what the user said and the last answer are embedded, as one text.

    Args:
        embedder: Makes vectors of texts.
        index: Keeps them.
        limit: How many turns are found at most.
        least: The similarity below which a turn is not found; what is a good one depends on the embedder.
        reach: Where turns are looked for.

    Raises:
        TypeError: The embedder or the index is none.
        ValueError: A number is out of range, or there is no such `reach`.
    """

    def __init__(
        self,
        *,
        embedder: Embedder,
        index: VectorIndex,
        limit: int = 4,
        least: float = _LEAST,
        reach: Reach = "resource",
    ) -> None:
        given = {"embedder": embedder, "index": index, "limit": limit, "least": least}
        check_arguments("SemanticRecall", _WANTED, {**given, "reach": reach})
        self._embedder = embedder
        self._index = index
        self._limit = limit
        self._least = least
        self._reach = reach

    async def add(self, thread: Thread, turn: Turn) -> None:
        """Take a turn that has ended; one without a word is left out."""
        text = _told(turn)
        if text:
            vector = await self._vector(text)
            await self._index.add(thread, turn.id, vector, model=self._embedder.name)

    async def search(self, resource: str, thread: str | None, text: str) -> Sequence[str]:
        """The ids of the turns that are near to a text, the nearest first."""
        within = None if self._reach == "resource" else thread
        if not text.strip() or (self._reach == "thread" and thread is None):
            return []
        vector = await self._vector(text)
        found = await self._index.search(
            resource, vector, model=self._embedder.name, limit=self._limit, thread=within
        )
        return [match.turn_id for match in found if match.similarity >= self._least]

    async def forget(self, resource: str, thread: str | None = None) -> None:
        """Find nothing any more of a resource, or of one of its conversations with those of sub-agents below it."""
        await self._index.forget(resource, thread)

    async def _vector(self, text: str) -> Sequence[float]:
        (vector,) = await self._embedder.embed([text])
        return vector


def _told(turn: Turn) -> str:
    asked = [message.text for message in turn.messages if message.role == "user"]
    answers = [message.text for message in turn.messages if message.role == "assistant"]
    return "\n".join(text for text in (*asked, *answers[-1:]) if text.strip())
