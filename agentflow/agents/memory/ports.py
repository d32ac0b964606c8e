"""The ports of memory: what agents need of whatever keeps conversations, facts of a user, and meanings.

Each is tried by a suite of `agentflow.testing`: `history_suite`, `working_memory_suite`, `vector_index_suite`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentflow.agents.memory.turn import Thread, Turn

__all__ = ["ConversationHistory", "Embedder", "Match", "Recall", "VectorIndex", "WorkingMemory"]


class ConversationHistory(Protocol):
    """Keeps conversations, turn by turn. What a turn has said before it ended is kept apart, and is no history."""

    async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
        """The latest turns of a conversation, the oldest of them first.

        Args:
            thread: The conversation; one that nobody has written to is empty.
            last: How many at most.
        """
        ...

    async def append(self, thread: Thread, turn: Turn) -> None:
        """Put a turn at the end of a conversation, and drop what was recorded of it; it lasts when this returns.

        A turn whose id is there stays as it is: who is not sure whether a write arrived writes again.
        """
        ...

    async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
        """Record what a turn that has not ended has said.

        Args:
            thread: The conversation.
            turn: What was said from place `at` on, in place of whatever was recorded from there on.
            at: How many messages before those stay.
        """
        ...

    async def recorded(self, thread: Thread, turn_id: str) -> Sequence[Turn]:
        """What was recorded of a turn that has not ended: one turn, or none."""
        ...

    async def find(self, resource: str, turn_ids: Sequence[str]) -> Sequence[Turn]:
        """Those of the turns that a resource has in any of its conversations, the oldest first."""
        ...

    async def forget(self, resource: str, thread: str | None = None) -> None:
        """Delete all turns and records of a resource, or of one of its conversations with those of sub-agents below it."""
        ...


class WorkingMemory(Protocol):
    """Keeps one JSON text for each resource."""

    async def get(self, resource: str) -> str | None:
        """The text as it was put last; `None` if none was."""
        ...

    async def put(self, resource: str, text: str) -> None:
        """Keep a text in place of the one before; it lasts when this returns."""
        ...

    async def drop(self, resource: str) -> None:
        """Delete the text, if there is one."""
        ...


class Embedder(Protocol):
    """Makes vectors of texts, such that texts of one meaning have vectors of one direction."""

    name: str
    """The model: vectors of another one cannot be compared."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, in their order, all of one length."""
        ...


@dataclass(frozen=True, slots=True)
class Match:
    """A turn that was found by its vector.

    Args:
        turn_id: The turn.
        similarity: The cosine of the angle to what was searched for: 1 for the same direction, 0 for nothing in common.
    """

    turn_id: str
    similarity: float


class VectorIndex(Protocol):
    """Keeps a vector for each turn, and finds those nearest to another."""

    async def add(
        self, thread: Thread, turn_id: str, vector: Sequence[float], *, model: str
    ) -> None:
        """Keep the vector of a turn, in place of one that was kept of it by this model.

        Args:
            thread: Where the turn was.
            turn_id: The turn.
            vector: Its vector.
            model: The name of the embedder.

        Raises:
            ValueError: The model's vectors have another length.
        """
        ...

    async def search(
        self,
        resource: str,
        vector: Sequence[float],
        *,
        model: str,
        limit: int,
        thread: str | None = None,
    ) -> Sequence[Match]:
        """The nearest turns of a resource, the nearest first.

        Args:
            resource: Whose turns.
            vector: What they are to be near to.
            model: The name of the embedder.
            limit: How many at most.
            thread: Only those of this conversation; default: of all.

        Raises:
            ValueError: The model's vectors have another length.
        """
        ...

    async def forget(self, resource: str, thread: str | None = None) -> None:
        """Delete all vectors of a resource, or of one of its conversations with those of sub-agents below it."""
        ...


class Recall(Protocol):
    """Finds earlier turns by what they say; `SemanticRecall` does it by an embedder and an index."""

    async def add(self, thread: Thread, turn: Turn) -> None:
        """Take a turn that has ended; taking it again changes nothing."""
        ...

    async def search(self, resource: str, thread: str | None, text: str) -> Sequence[str]:
        """The ids of the turns that belong to a text.

        Args:
            resource: Whose turns.
            thread: The conversation in which the text is said.
            text: What is said.
        """
        ...

    async def forget(self, resource: str, thread: str | None = None) -> None:
        """Find nothing any more of a resource, or of one of its conversations with those of sub-agents below it."""
        ...
