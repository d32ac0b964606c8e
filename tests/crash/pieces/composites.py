"""Pieces that hold others: alternatives, rounds, sub-workflows. One more kind is one more class, and one more line in `draw`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from agentflow import Node, NodeContext, Retry, Workflow, field, node, route, subflow
from tests.crash.pieces.dice import Dice
from tests.crash.pieces.piece import Piece, State, act, flow, say

__all__ = ["Fork", "Repeat", "Sub", "rounds"]


@dataclass(frozen=True, slots=True)
class Fork:
    """Two ways, one of which is taken, by what an effect gave.

    Args:
        ways: The pieces on each.
    """

    ways: tuple[Piece, Piece]

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        (left,) = dice.pieces(1, 1)
        (right,) = dice.pieces(1, 1)
        return cls((left, right))

    def nodes(self, id: str, then: str) -> list[Node]:
        left, right = f"{id}-left", f"{id}-right"

        async def choose(state: State, ctx: NodeContext) -> dict[str, Any]:
            done = await act(ctx, "lot")
            return {"lot": len(done) % 2, **say(ctx, done)}

        to = [route.to(left, when=field("lot") == 0), route.to(right)]
        return [
            node(choose, id=id, provides=["lot", "log"], routes=to),
            *self.ways[0].nodes(left, then),
            *self.ways[1].nodes(right, then),
        ]


def rounds(id: str, pieces: Sequence[Piece], times: int, allowed: int) -> Workflow[list[str]]:
    """A workflow that goes round with its pieces, so many times or until it has no rounds left."""
    row = (_Round(times), *pieces, _Again())
    return flow(id, row, max_rounds=allowed, on_limit="end")


@dataclass(frozen=True, slots=True)
class Repeat:
    """A sub-workflow that goes round, until it has done so often enough or has no rounds left.

    Args:
        pieces: What it does in each round.
        times: How often.
        rounds: How many rounds it has.
    """

    pieces: tuple[Piece, ...]
    times: int
    rounds: int

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        times = dice.number(2, 3)
        return cls(dice.pieces(times=times), times, dice.one_of([times, times, times - 1]))

    def nodes(self, id: str, then: str) -> list[Node]:
        return [_holding(id, rounds(f"{id}-rounds", self.pieces, self.times, self.rounds), then)]


@dataclass(frozen=True, slots=True)
class _Round:
    """The beginning of a round."""

    times: int

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            return {"left": self.times - ctx.round, **say(ctx, "round", ctx.round)}

        return [
            node(run, id=id, provides=["left", "log"], starts_round=True, routes=[route.to(then)])
        ]


@dataclass(frozen=True, slots=True)
class _Again:
    """The end of a round."""

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State) -> None: ...

        to = [route.to("_round1", when=field("left") > 0), route.to(then)]
        return [node(run, id=id, requires=["left"], routes=to)]


@dataclass(frozen=True, slots=True)
class Sub:
    """A sub-workflow, whose first attempt may fail when all is done.

    Args:
        pieces: What it does.
        retried: Whether it does it twice.
    """

    pieces: tuple[Piece, ...]
    retried: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        retried = dice.chance(0.3)
        return cls(dice.pieces(times=2 if retried else 1), retried)

    def nodes(self, id: str, then: str) -> list[Node]:
        pieces = (*self.pieces, _Trip()) if self.retried else self.pieces
        retry = Retry(2) if self.retried else None
        return [_holding(id, flow(f"{id}-inside", pieces), then, retry=retry)]


@dataclass(frozen=True, slots=True)
class _Trip:
    """A node that fails in the first attempt of the sub-workflow that it is in."""

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            done = await act(ctx, "trip")
            # The run of a second attempt has an id of its own.
            if not ctx.run_id.endswith(".2"):
                raise OSError("once more from the beginning")
            return say(ctx, done)

        return [node(run, id=id, provides=["log"], routes=[route.to(then)])]


def _holding(id: str, inner: Any, then: str, **options: Any) -> Node:
    return subflow(id, inner, outputs={"log": "$result"}, routes=[route.to(then)], **options)
