"""Pieces that act: effects in async and in plain nodes, attempts that fail, errors that are mended, values of many types."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn, Self

from agentflow import Node, NodeContext, Retry, node, route
from tests.crash.pieces.dice import Dice
from tests.crash.pieces.piece import State, act, say

__all__ = ["Act", "Keep", "Leave", "Mend", "Retried"]


@dataclass(frozen=True, slots=True)
class Act:
    """A node with a few effects, one after the other.

    Args:
        effects: How many.
        threaded: Whether it is a plain function, which runs in a worker thread.
    """

    effects: int
    threaded: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(1, 3), dice.chance(0.3))

    def nodes(self, id: str, then: str) -> list[Node]:
        names = [f"effect {number}" for number in range(self.effects)]

        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            return say(ctx, *[await act(ctx, name) for name in names])

        def run_in_thread(state: State, ctx: NodeContext) -> dict[str, Any]:
            done = []
            for name in names:
                key = ctx.effect_key(name)
                done.append(ctx.sync.once(name, partial(ctx.deps.do, key)))
                ctx.deps.got(key)
            return say(ctx, *done)

        body = run_in_thread if self.threaded else run
        return [node(body, id=id, provides=["log"], routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Retried:
    """A node that fails a few times, after an effect or in the middle of one, and then does not.

    Args:
        failures: How often it fails.
        backoff: Seconds before the second attempt.
        within: Whether it is the effect itself that fails, so that there is no record of it.
    """

    failures: int
    backoff: float
    within: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(1, 3), dice.one_of([0.0, 2.5]), dice.chance(0.5))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            done = [await act(ctx, "for all attempts")]
            if ctx.attempt <= self.failures:
                await act(ctx, f"of attempt {ctx.attempt}")
                if self.within:
                    await ctx.once("fails", lambda: _failing(ctx, f"fails {ctx.attempt}"))
                raise OSError(f"attempt {ctx.attempt} fails")
            return say(ctx, *done, await act(ctx, "at last"))

        retry = Retry(self.failures + 1, self.backoff)
        return [node(run, id=id, provides=["log"], retry=retry, routes=[route.to(then)])]


def _failing(ctx: NodeContext, name: str) -> NoReturn:
    ctx.deps.do(ctx.effect_key(name))
    raise OSError(f"the effect {name}")


@dataclass(frozen=True, slots=True)
class Mend:
    """A node all attempts of which fail, and an error node that takes over.

    Args:
        attempts: How many.
    """

    attempts: int

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(1, 2))

    def nodes(self, id: str, then: str) -> list[Node]:
        mender = f"{id}-mend"

        async def fail(state: State, ctx: NodeContext) -> dict[str, Any]:
            await act(ctx, f"of attempt {ctx.attempt}")
            raise ValueError(f"attempt {ctx.attempt} is in vain")

        async def mend(state: State, ctx: NodeContext) -> dict[str, Any]:
            assert ctx.failure is not None
            return say(ctx, ctx.failure.node_id, ctx.failure.message, await act(ctx, "mend"))

        retry = Retry(self.attempts)
        to = [route.to(then)]
        return [
            node(fail, id=id, provides=["log"], retry=retry, on_error=mender, routes=to),
            node(mend, id=mender, provides=["log"], routes=to),
        ]


@dataclass(frozen=True, slots=True)
class Keep:
    """A node that keeps values for which JSON has no form of its own."""

    number: int

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(0, 9))

    def nodes(self, id: str, then: str) -> list[Node]:
        n = self.number

        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            kept = {
                "set": {n, str(n)},
                "tuple": (n, [n], {n: None}),
                "decimal": Decimal(n) / 8,
                "moment": datetime(2030, 1, 1, tzinfo=UTC) + timedelta(days=n),
                "counter": Counter({n: 2}),
                "deque": deque([n, n + 1, n + 2], maxlen=2),
                "bytes": bytes([n, 255 - n]),
                "before": state.get("kept", {}).get("decimal"),
            }
            return {"kept": kept, **say(ctx, n)}

        return [node(run, id=id, provides=["kept", "log"], routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Leave:
    """A node that ends the whole run, from however deep inside: by a failure, or by a bail.

    Args:
        bail: Whether by a bail.
    """

    bail: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.chance(0.5))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            last = await act(ctx, "last")
            if self.bail:
                ctx.bail([last])
            raise LookupError(f"{last}, and nothing more can be done")

        return [node(run, id=id, provides=["log"], routes=[route.to(then)])]
