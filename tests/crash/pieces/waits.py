"""Pieces that wait: for a time, short or long, and for answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from agentflow import Node, NodeContext, ask, node, route, wait
from tests.crash.pieces.dice import Dice
from tests.crash.pieces.piece import State, act, say

__all__ = ["Ask", "Interview", "Wait"]


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait, and an effect after it.

    Args:
        seconds: For how long; a few are waited for in memory, for more the run is suspended.
        declared: Whether it is a node of its own, and not a call in the middle of one.
    """

    seconds: float
    declared: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.one_of([0.5, 4.0, 60.0, 86_400.0]), dice.chance(0.5))

    def nodes(self, id: str, then: str) -> list[Node]:
        late = f"{id}-late"

        async def pause(state: State, ctx: NodeContext) -> dict[str, Any]:
            first = await act(ctx, "before")
            await ctx.wait(self.seconds)
            return say(ctx, first)

        async def wake(state: State, ctx: NodeContext) -> dict[str, Any]:
            return say(ctx, await act(ctx, "after"))

        to = [route.to(late)]
        waiting = (
            wait(id, seconds=self.seconds, routes=to)
            if self.declared
            else node(pause, id=id, provides=["log"], routes=to)
        )
        return [waiting, node(wake, id=late, provides=["log"], routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Ask:
    """A node that asks for a number, until somebody answers or for a time.

    Args:
        timeout: Seconds after which it goes on without an answer; nobody answers such a question.
    """

    timeout: float | None

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.one_of([None, None, 3600.0]))

    def nodes(self, id: str, then: str) -> list[Node]:
        told = f"{id}-told"

        async def tell(state: State, ctx: NodeContext) -> dict[str, Any]:
            return say(ctx, state["said"])

        asking = ask(
            id,
            prompt="how many?" if self.timeout is None else "until when?",
            answer="said",
            schema=int,
            timeout=self.timeout,
            default=-1,
            routes=[route.to(told)],
        )
        return [
            asking,
            node(tell, id=told, requires=["said"], provides=["log"], routes=[route.to(then)]),
        ]


@dataclass(frozen=True, slots=True)
class Interview:
    """A node that asks one question after the other, each with an effect before it.

    Args:
        questions: How many.
    """

    questions: int

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(1, 3))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            said: list[Any] = []
            for number in range(self.questions):
                shown = await act(ctx, f"show {number}")
                said.append(await ctx.suspend(f"question {number}", [shown, *said]))
            return say(ctx, *said, await act(ctx, "thank"))

        return [node(run, id=id, provides=["log"], routes=[route.to(then)])]
