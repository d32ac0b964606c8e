"""Pieces of workflows: each is a few nodes with one way in and one way out, and a workflow is a row of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Protocol, TypedDict

from agentflow import (
    LoopResult,
    Message,
    Node,
    NodeContext,
    Workflow,
    append,
    define_workflow,
    node,
    route,
)

__all__ = ["Piece", "State", "act", "flow", "say"]


class State(TypedDict):
    """The state of every workflow and sub-workflow; `log` tells what came of each piece, and is the result."""

    log: NotRequired[Annotated[list[str], append]]
    left: NotRequired[int]
    lot: NotRequired[int]
    said: NotRequired[int]
    kept: NotRequired[dict[str, Any]]
    talk: NotRequired[list[Message]]
    talked: NotRequired[LoopResult]
    item: NotRequired[int]
    items: NotRequired[list[int]]
    gathered: NotRequired[list[list[str]]]


class Piece(Protocol):
    """A few nodes with one way in and one way out; everything that it does, it adds to `log`."""

    def nodes(self, id: str, then: str) -> list[Node]:
        """The nodes. The first has the id `id`, the ids of others begin with it, and the way out leads to the node `then`."""
        ...


def flow(id: str, pieces: Sequence[Piece], **options: Any) -> Workflow[list[str]]:
    """A workflow that is a row of pieces, and delivers what they have added to `log`."""
    names = [f"{type(piece).__name__.lower()}{at}" for at, piece in enumerate(pieces, 1)]

    @node(provides=["log"], routes=[route.deliver("log")])
    async def end(state: State, ctx: NodeContext) -> dict[str, Any]:
        return say(ctx, "the end")

    nodes = [
        each
        for piece, name, then in zip(pieces, names, [*names[1:], "end"], strict=True)
        for each in piece.nodes(name, then)
    ]
    return define_workflow(
        id,
        nodes=[*nodes, end],
        state=State,
        entry=names[0],
        result=list[str],
        **{"inputs": [], "max_rounds": 1, **options},
    )


def say(ctx: NodeContext, *words: object) -> dict[str, Any]:
    """The update of a node that adds one line to `log`."""
    return {"log": [f"{ctx.node_id}#{ctx.visit}: {' '.join(map(str, words))}"]}


async def act(ctx: NodeContext, name: str) -> str:
    """Do an effect that is recorded, and note that this visit was given what it gave."""
    key = ctx.effect_key(name)
    done: str = await ctx.once(name, lambda: ctx.deps.do(key))
    ctx.deps.got(key)
    return done
