"""Pieces that hold others which run at the same time: branches, one workflow for each item, and a race that one of two always wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from agentflow import Node, NodeContext, ask, map_each, node, parallel, race, route, subflow
from tests.crash.pieces.dice import Dice
from tests.crash.pieces.piece import Piece, State, act, flow, say

__all__ = ["Beside", "Each", "First"]


@dataclass(frozen=True, slots=True)
class Beside:
    """Branches that all add to `log`.

    Args:
        branches: The pieces of each.
    """

    branches: tuple[tuple[Piece, ...], ...]

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(tuple(dice.pieces(times=2) for _ in range(dice.number(2, 3))))

    def nodes(self, id: str, then: str) -> list[Node]:
        branches = {
            f"b{at}": subflow(f"b{at}", flow(f"{id}-b{at}", pieces), outputs={"log": "$result"})
            for at, pieces in enumerate(self.branches)
        }
        return [parallel(id, branches, routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Each:
    """The same pieces for each item.

    Args:
        pieces: The pieces.
        items: How many.
        made: Whether the items are made one by one by a function, and not held by a field.
    """

    pieces: tuple[Piece, ...]
    items: int
    made: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        items = dice.number(0, 3)
        return cls(dice.pieces(1, 1, times=max(1, items)), items, dice.chance(0.5))

    def nodes(self, id: str, then: str) -> list[Node]:
        close = f"{id}-close"

        async def begin(state: State, ctx: NodeContext) -> dict[str, Any]:
            await act(ctx, "list")
            return {"items": list(range(self.items))}

        async def end(state: State, ctx: NodeContext) -> dict[str, Any]:
            return say(ctx, *state["gathered"])

        each = map_each(
            f"{id}-each",
            flow(f"{id}-item", self.pieces, inputs=["item"]),
            over=_one_by_one if self.made else "items",
            item="item",
            into="gathered",
            concurrency=2,
            requires=["items"],
            routes=[route.to(close)],
        )
        return [
            node(begin, id=id, provides=["items"], routes=[route.to(each.id)]),
            each,
            node(end, id=close, requires=["gathered"], provides=["log"], routes=[route.to(then)]),
        ]


def _one_by_one(state: Any) -> Any:
    return iter(state["items"])


@dataclass(frozen=True, slots=True)
class First:
    """A race with a branch that asks what nobody answers.

    Args:
        pieces: The pieces of the other.
    """

    pieces: tuple[Piece, ...]

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.pieces())

    def nodes(self, id: str, then: str) -> list[Node]:
        branches = {
            "never": subflow("never", flow(f"{id}-never", (_Never(),)), outputs={"log": "$result"}),
            "first": subflow("first", flow(f"{id}-first", self.pieces), outputs={"log": "$result"}),
        }
        return [race(id, branches, routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class _Never:
    """A question that nobody answers."""

    def nodes(self, id: str, then: str) -> list[Node]:
        return [ask(id, prompt="why?", answer="said", schema=int, routes=[route.to(then)])]
