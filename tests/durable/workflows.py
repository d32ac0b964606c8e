"""A workflow with everything that a crash can hit: effects, a retry, an error node, a loop, a sub-workflow, growing fields."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, NotRequired, TypedDict

from agentflow import (
    Budget,
    NodeContext,
    Retry,
    Workflow,
    append,
    define_workflow,
    field,
    node,
    route,
    subflow,
)

__all__ = ["BUDGET", "INPUT", "World", "everything"]


class World:
    """What is outside: it counts what was done to it, by key.

    Attributes:
        at_once: How many effects may be under way at the same time.
    """

    at_once = 1

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    def act(self, key: str) -> str:
        self.done[key] += 1
        return f"did {key}"


class Item(TypedDict):
    name: str
    made: NotRequired[str]


class State(TypedDict):
    names: list[str]
    left: NotRequired[int]
    name: NotRequired[str]
    made: NotRequired[str]
    log: NotRequired[Annotated[list[str], append]]
    notes: NotRequired[dict[int, set[str]]]


INPUT: dict[str, Any] = {"names": ["ada", "bob", "cyd"]}
BUDGET = Budget(visits=40, rounds=12)


def everything() -> Workflow[Any]:
    """The workflow; its nodes act on the world that the run is given as `deps`."""

    @node(requires=["names"], provides=["left", "notes"], routes=[route.to("pick")])
    async def begin(state: State) -> dict[str, Any]:
        return {"left": len(state["names"]), "notes": {0: {"begun"}}}

    @node(
        requires=["names", "left"],
        provides=["name", "left"],
        starts_round=True,
        routes=[route.to("make")],
    )
    async def pick(state: State) -> dict[str, Any]:
        return {"name": state["names"][-state["left"]], "left": state["left"] - 1}

    @node(
        requires=["name"],
        provides=["made"],
        retry=Retry(3),
        routes=[route.deliver("made")],
    )
    async def work(state: Item, ctx: NodeContext) -> dict[str, Any]:
        world: World = ctx.deps
        first = await ctx.once("first", lambda: world.act(ctx.effect_key("first")))
        if ctx.attempt == 1:
            raise ConnectionError("the first attempt always fails")
        second = await ctx.once("second", lambda: world.act(ctx.effect_key("second")))
        return {"made": f"{first} and {second}"}

    making = define_workflow("making", nodes=[work], state=Item, inputs=["name"], result=str)

    @node(
        requires=["name", "made", "notes", "left"],
        provides=["log", "notes"],
        on_error="mend",
        routes=[route.to("pick", when=field("left") > 0), route.to("close")],
    )
    async def check(state: State, ctx: NodeContext) -> dict[str, Any]:
        world: World = ctx.deps
        await ctx.once("look", lambda: world.act(ctx.effect_key("look")))
        if state["name"] == "bob":
            raise ValueError("bob is never right")
        notes = {**state["notes"], len(state["notes"]): {state["name"]}}
        return {"log": [state["made"]], "notes": notes}

    @node(
        requires=["left"],
        provides=["log"],
        routes=[route.to("pick", when=field("left") > 0), route.to("close")],
    )
    async def mend(state: State, ctx: NodeContext) -> dict[str, Any]:
        assert ctx.failure is not None
        return {"log": [f"mended: {ctx.failure.message}"]}

    @node(requires=["log"], routes=[route.deliver("log")])
    async def close(state: State) -> None: ...

    return define_workflow(
        "everything",
        nodes=[
            begin,
            pick,
            subflow(
                "make",
                making,
                inputs={"name": "name"},
                outputs={"made": "$result"},
                routes=[route.to("check")],
            ),
            check,
            mend,
            close,
        ],
        state=State,
        inputs=["names"],
        max_rounds=5,
    )
