"""Pieces that call: models, as a whole and in chunks, tools, also ones that need an approval, and a model that works with tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from agentflow import Node, NodeContext, ToolDenied, Uses, build_loop, node, route, subflow
from agentflow.messages import user
from tests.crash.pieces.dice import Dice
from tests.crash.pieces.piece import State, say

__all__ = ["Agent", "Talk", "Use"]


@dataclass(frozen=True, slots=True)
class Talk:
    """A node that asks a model, a few times.

    Args:
        calls: How often.
        streamed: Whether it takes the answers in chunks.
    """

    calls: int
    streamed: bool

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.number(1, 2), dice.chance(0.5))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def ask(ctx: NodeContext, text: str) -> str:
            if not self.streamed:
                reply = await ctx.model.invoke(text)
            else:
                async with ctx.model.stream(text) as stream:
                    reply = await stream.reply()
            ctx.deps.got(reply.invocation.id)
            return str(reply.value)

        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            # The same words twice: what is asked is no key.
            return say(ctx, *[await ask(ctx, "again?") for _ in range(self.calls)])

        uses = Uses(model_calls=self.calls)
        return [node(run, id=id, provides=["log"], uses=uses, routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Use:
    """A node that calls a tool by itself.

    Args:
        tool: Which one.
        number: What it is given.
    """

    tool: str
    number: int

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        return cls(dice.one_of(["fetch", "falter", "pay", "pay_soon"]), dice.number(1, 99))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def run(state: State, ctx: NodeContext) -> dict[str, Any]:
            try:
                receipt = await ctx.tools.invoke(self.tool, {"number": self.number})
            except ToolDenied as error:
                return say(ctx, error)
            ctx.deps.got(receipt.invocation.id)
            return say(ctx, receipt.value)

        uses = Uses(tool_calls=2)
        return [node(run, id=id, provides=["log"], uses=uses, routes=[route.to(then)])]


@dataclass(frozen=True, slots=True)
class Agent:
    """The agentic loop, with a model that makes several tool calls at a time.

    Args:
        script: What the model does, step by step; see `services.replies`.
    """

    script: str

    @classmethod
    def draw(cls, dice: Dice) -> Self:
        tools = ["fetch", "fetch", "falter", "pay", "pay_soon"]
        steps = [
            ", ".join(
                f"{dice.one_of(tools)} {dice.number(1, 99)}" for _ in range(dice.number(1, 3))
            )
            for _ in range(dice.number(1, 2))
        ]
        return cls(" | ".join(steps))

    def nodes(self, id: str, then: str) -> list[Node]:
        async def begin(state: State) -> dict[str, Any]:
            return {"talk": [user(self.script)]}

        async def close(state: State, ctx: NodeContext) -> dict[str, Any]:
            told = [message.text or "tools" for message in state["talked"].messages]
            return say(ctx, *told)

        loop = subflow(
            f"{id}-loop",
            build_loop(f"{id}-agent", max_steps=4),
            inputs={"messages": "talk"},
            outputs={"talked": "$result"},
            routes=[route.to(f"{id}-close")],
        )
        return [
            node(begin, id=id, provides=["talk"], routes=[route.to(loop.id)]),
            loop,
            node(
                close,
                id=f"{id}-close",
                requires=["talked"],
                provides=["log"],
                routes=[route.to(then)],
            ),
        ]
