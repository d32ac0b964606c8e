"""The keys of the calls that a visit makes: the same again when the visit is made again, whoever comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentflow.errors import Divergence

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Calls", "divergence"]


class Calls:
    """The calls of one kind that an attempt makes and nobody has named; each gets a key.

    Args:
        ctx: The attempt.
        kind: `model` or `tool`.
    """

    __slots__ = ("_counts", "_ctx", "_due", "_kind")

    def __init__(self, ctx: NodeContext, kind: str) -> None:
        self._ctx = ctx
        self._kind = kind
        self._counts: dict[str, int] = {}
        self._due: dict[str, None] | None = None

    def key(self, digest: str) -> str:
        """The key of a call: by what it asks for, and by which of its like it is.

        So it is the same again, whichever of several tasks of the visit comes first.

        Args:
            digest: The digest of what it asks for.

        Raises:
            Divergence: Before a crash, the visit made another call in its place.
        """
        ctx = self._ctx
        prefix = f"{self._kind}:{ctx.attempt}."
        like = f"{prefix}{digest[:12]}"
        self._counts[like] = number = self._counts.get(like, 0) + 1
        key = ctx.effect_key(f"{like}.{number}")
        due = self._due
        if due is None:
            # What a crash has left; looked up once, because whatever is recorded from here on has asked for its key.
            mine = ctx.effect_key(prefix)
            own = [other for other in ctx.record.own_keys() if other.startswith(mine)]
            due = self._due = dict.fromkeys(own)
        due.pop(key, None)
        if due and ctx.record.find(key) is None and ctx.in_own_task:
            # One task makes its calls in the same order again: what it did before comes first.
            raise divergence(ctx, self._kind, next(iter(due)))
        return key


def divergence(ctx: NodeContext, kind: str, key: str) -> Divergence:
    """The error for a key under which another request was recorded."""
    return Divergence(
        f"node {ctx.node_id!r}: the {kind} effect {key!r} was recorded for another request"
    )
