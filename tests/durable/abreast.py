"""A workflow with everything that runs at the same time: branches, maps and races, nested, in a loop, some of which fail."""

from __future__ import annotations

import random
from typing import Annotated, Any, NotRequired, TypedDict

import anyio
import anyio.lowlevel

from agentflow import (
    Budget,
    NodeContext,
    Workflow,
    append,
    define_workflow,
    field,
    map_each,
    node,
    parallel,
    race,
    route,
    subflow,
)
from tests.durable.workflows import World

__all__ = ["BUDGET", "INPUT", "Paced", "abreast"]

INPUT: dict[str, Any] = {"names": ["ada", "bob"]}
BUDGET = Budget(visits=200, rounds=100)


class Paced(World):
    """A world in which everything takes a time of its own, drawn from a seed: who is first changes from world to world."""

    at_once = 10

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def pass_time(self) -> None:
        for _ in range(self._random.randrange(6)):
            await anyio.lowlevel.checkpoint()


class Item(TypedDict):
    name: str
    log: NotRequired[Annotated[list[str], append]]
    out: NotRequired[str]


class State(TypedDict):
    names: list[str]
    turn: NotRequired[int]
    log: NotRequired[Annotated[list[str], append]]
    made: NotRequired[list[str]]
    bad: NotRequired[list[dict[str, Any]]]
    first: NotRequired[str]
    who: NotRequired[str]


def step(id: str, way: Any) -> Any:
    """A node that acts once on the world, in its own time, and adds to the log."""

    @node(id=id, requires=["name"], provides=["log", "out"], routes=[way])
    async def act(state: Item, ctx: NodeContext) -> dict[str, Any]:
        world: Paced = ctx.deps
        await world.pass_time()
        key = ctx.effect_key("act").partition("/")[2]
        await ctx.once("act", lambda: world.act(key))
        await world.pass_time()
        return {"log": [key], "out": f"{id} {state['name']}"}

    return act


def steps(id: str, *ids: str) -> Workflow[Any]:
    """A workflow of steps in a line."""
    ways = [route.to(after) for after in ids[1:]] + [route.deliver("out")]
    nodes = [step(one, way) for one, way in zip(ids, ways, strict=True)]
    return define_workflow(
        id, nodes=nodes, state=Item, inputs=["name"], optional_inputs=["log"], result=str
    )


@node(requires=["name"], provides=["out"], routes=[route.deliver("out")])
async def never(state: Item) -> dict[str, Any]:
    await anyio.sleep_forever()
    raise AssertionError


@node(requires=["name"], provides=["out"], routes=[route.deliver("out")])
async def picky(state: Item, ctx: NodeContext) -> dict[str, Any]:
    world: Paced = ctx.deps
    await world.pass_time()
    if state["name"] == "bob":
        raise ValueError("bob is never right")
    return {"out": state["name"].upper()}


def one_name() -> Workflow[Any]:
    """What is done with one name: a race that one of two always wins, then two branches."""
    shares = {"log": "log"}
    quick, long = steps("quick", "q1"), steps("long", "l1", "l2")
    forever = define_workflow("forever", nodes=[never], state=Item, inputs=["name"], result=str)
    return define_workflow(
        "one-name",
        nodes=[
            race("run", {"quick": quick, "forever": forever}, into="out", routes=[route.to("fan")]),
            parallel(
                "fan",
                {
                    name: subflow(name, flow, inputs={"name": "name", **shares}, outputs=shares)
                    for name, flow in {"long": long, "quick": quick}.items()
                },
                routes=[route.finish(lambda state: " ".join(state["log"]), reads=["log"])],
            ),
        ],
        state=Item,
        inputs=["name"],
        optional_inputs=["log"],
        result=str,
    )


def abreast() -> Workflow[Any]:
    """The workflow; its nodes act on the `Paced` world that the run is given as `deps`."""

    @node(provides=["turn"], may_provide=["log"], starts_round=True, routes=[route.to("each")])
    async def begin(state: State) -> dict[str, Any]:
        return {"turn": state.get("turn", 0) + 1}

    checked = define_workflow("checked", nodes=[picky], state=Item, inputs=["name"], result=str)

    @node(
        requires=["turn", "made", "bad", "log"],
        routes=[route.to("begin", field("turn") < 2), route.finish(dict)],
    )
    async def close(state: State) -> None: ...

    return define_workflow(
        "abreast",
        nodes=[
            begin,
            map_each(
                "each",
                one_name(),
                over="names",
                item="name",
                into="made",
                concurrency=2,
                routes=[route.to("check")],
            ),
            map_each(
                "check",
                checked,
                over="names",
                item="name",
                into="log",
                on_branch_error="collect",
                errors="bad",
                routes=[route.to("close")],
            ),
            close,
        ],
        state=State,
        inputs=["names"],
        max_rounds=2,
    )
