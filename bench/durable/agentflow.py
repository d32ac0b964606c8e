"""agentflow: an engine with a store; a suspended or interrupted run is gone on with by its id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from agentflow import (
    Engine,
    Node,
    RunSuspended,
    append,
    define_workflow,
    field,
    map_each,
    node,
    route,
)
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from bench.durable.messages import message
from bench.durable.place import Sqlite

if TYPE_CHECKING:
    from agentflow import NodeContext, Workflow
    from agentflow.run.ports import Store
    from bench.durable.keeper import Ask, Program, Stamp
    from bench.durable.place import Place

TITLE = "agentflow"
DISTRIBUTION = "agentflow"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}

Fields = Mapping[str, Any]
Hold = Callable[[], Awaitable[None]]


class State(TypedDict):
    x: int
    messages: NotRequired[Annotated[list[str], append]]


def stored_at(place: Place) -> Store:
    if not isinstance(place, Sqlite):
        return PostgresqlStore(place.conninfo)
    return SqliteStore(place.path, durability="full" if place.synchronous == "FULL" else "relaxed")


@dataclass(frozen=True, slots=True)
class Shelf:
    """A store, and the engines on it."""

    store: Store
    engines: AsyncExitStack

    async def engine(self, workflow: Workflow[int]) -> Engine[int]:
        return await self.engines.enter_async_context(Engine(workflow, store=self.store))


@asynccontextmanager
async def storing(place: Place) -> AsyncIterator[Shelf]:
    async with AsyncExitStack() as engines:
        yield Shelf(stored_at(place), engines)


async def program(store: Shelf, workflow: Workflow[int]) -> Program:
    engine = await store.engine(workflow)

    async def run(x: int) -> int:
        return await engine.run({"x": x})

    return run


def looping(
    rounds: int, stamp: Stamp, *, talking: bool = False, hold: Hold | None = None
) -> Workflow[int]:
    async def count(state: Fields) -> Fields:
        stamp()
        x = state["x"] + 1
        if hold is not None and x == rounds:
            await hold()
        return {"x": x, "messages": [message(x)]} if talking else {"x": x}

    turn = node(
        count,
        requires=["x"],
        provides=["x", "messages"] if talking else ["x"],
        starts_round=True,
        routes=[
            route.deliver("x", when=field("x") >= rounds),
            route.to("count", when=field("x") < rounds),
        ],
    )
    return define_workflow(
        "loop", nodes=[turn], state=State, inputs=["x"], result=int, max_rounds=rounds + 1
    )


async def loop(store: Shelf, rounds: int, stamp: Stamp) -> Program:
    return await program(store, looping(rounds, stamp))


async def talk(store: Shelf, turns: int, stamp: Stamp) -> Program:
    return await program(store, looping(turns, stamp, talking=True))


async def add(state: Fields) -> Fields:
    return {"x": state["x"] + 1}


async def line(store: Shelf, nodes: int) -> Program:
    made = [
        node(
            add,
            id=f"n{at}",
            requires=["x"],
            provides=["x"],
            routes=[route.to(f"n{at + 1}") if at < nodes - 1 else route.deliver("x")],
        )
        for at in range(nodes)
    ]
    return await program(store, workflow_of("line", made))


def workflow_of(id: str, nodes: list[Node]) -> Workflow[int]:
    return define_workflow(id, nodes=nodes, state=State, inputs=["x"], result=int)


class Fan(TypedDict):
    items: list[int]
    results: NotRequired[list[int]]


async def fan(store: Shelf, items: int) -> Program:
    one = node(add, requires=["x"], provides=["x"], routes=[route.deliver("x")])
    each = map_each(
        "each",
        workflow_of("one", [one]),
        over="items",
        item="x",
        into="results",
        concurrency=items,
        routes=[route.finish(lambda state: sum(state["results"]), reads=["results"])],
    )
    workflow = define_workflow("fan", nodes=[each], state=Fan, inputs=["items"], result=int)
    engine = await store.engine(workflow)

    async def run(x: int) -> int:
        return await engine.run({"items": [x] * items})

    return run


async def asking(store: Shelf) -> Ask:
    async def ask(state: Fields, ctx: NodeContext) -> Fields:
        return {"x": await ctx.suspend("go on?", {"x": state["x"]}, schema=int)}

    first = node(add, requires=["x"], provides=["x"], routes=[route.to("ask")])
    second = node(ask, requires=["x"], provides=["x"], routes=[route.deliver("x")])
    engine = await store.engine(workflow_of("asking", [first, second]))

    async def run(x: int) -> None:
        try:
            await engine.run({"x": x})
        except RunSuspended:
            return
        raise AssertionError("the run has not asked")

    return run


async def leave(place: Place, rounds: int, *, talking: bool) -> None:
    reached = asyncio.Event()

    async def hold() -> None:
        reached.set()
        await asyncio.Event().wait()

    workflow = looping(rounds + 1, lambda: None, talking=talking, hold=hold)
    async with (
        Engine(workflow, store=stored_at(place)) as engine,
        engine.start({"x": 0}, run_id="left"),
    ):
        await reached.wait()


async def go_on(place: Place, rounds: int, stamp: Stamp, *, talking: bool) -> int:
    workflow = looping(rounds + 1, stamp, talking=talking)
    async with Engine(workflow, store=stored_at(place)) as engine:
        return await engine.run(run_id="left")
