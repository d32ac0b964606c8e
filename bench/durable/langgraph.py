"""LangGraph: a graph compiled with its SQLite or PostgreSQL saver, `durability="sync"`: a checkpoint is kept before the next step."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import operator
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt

from bench.durable.messages import message
from bench.durable.place import Sqlite

if TYPE_CHECKING:
    from bench.durable.keeper import Ask, Program, Stamp
    from bench.durable.place import Place

TITLE = "langgraph"
DISTRIBUTION = "langgraph"
LACKS: Mapping[str, str] = {
    "resume_talk": "a checkpoint holds the whole list: 10,000 of them are 10 GB",
}
FEWER: Mapping[str, int] = {
    "many_full": 25,
    "many_postgresql": 25,
    "resume": 1_000,
    "suspended": 1_000,
}

Fields = dict[str, Any]


class State(TypedDict):
    x: int


class Talk(TypedDict):
    x: int
    messages: Annotated[list[str], operator.add]


@asynccontextmanager
async def storing(place: Place) -> AsyncIterator[Any]:
    if isinstance(place, Sqlite):
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(str(place.path)) as saver:
            await saver.setup()
            await saver.conn.execute(f"PRAGMA synchronous = {place.synchronous}")
            yield saver
    else:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        async with AsyncPostgresSaver.from_conn_string(place.conninfo) as saver:
            await saver.setup()
            yield saver


def config(run_id: str, steps: int) -> Fields:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": steps + 10}


def program(graph: Any, steps: int, given: Fields | None = None) -> Program:
    rest = given or {}

    async def run(x: int) -> int:
        thread = config(str(uuid.uuid4()), steps)
        return (await graph.ainvoke({"x": x, **rest}, thread, durability="sync"))["x"]

    return run


def looping(saver: Any, rounds: int, stamp: Stamp, *, talking: bool = False) -> Any:
    async def count(state: State) -> Fields:
        stamp()
        x = state["x"] + 1
        return {"x": x, "messages": [message(x)]} if talking else {"x": x}

    def onward(state: State) -> str:
        return END if state["x"] >= rounds else "count"

    graph = StateGraph(Talk if talking else State)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_conditional_edges("count", onward, ["count", END])
    return graph.compile(checkpointer=saver)


async def loop(store: Any, rounds: int, stamp: Stamp) -> Program:
    return program(looping(store, rounds, stamp), rounds)


async def talk(store: Any, turns: int, stamp: Stamp) -> Program:
    return program(looping(store, turns, stamp, talking=True), turns, {"messages": []})


async def add(state: State) -> Fields:
    return {"x": state["x"] + 1}


async def line(store: Any, nodes: int) -> Program:
    graph = StateGraph(State)
    names = [f"n{at}" for at in range(nodes)]
    for name in names:
        graph.add_node(name, add)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return program(graph.compile(checkpointer=store), nodes)


class Fan(TypedDict):
    x: int
    results: Annotated[list[int], operator.add]


async def fan(store: Any, items: int) -> Program:
    async def work(state: State) -> Fields:
        return {"results": [state["x"] + 1]}

    graph = StateGraph(Fan)
    graph.add_node("work", work)
    graph.add_conditional_edges(
        START, lambda state: [Send("work", {"x": state["x"]})] * items, ["work"]
    )
    graph.add_edge("work", END)
    compiled = graph.compile(checkpointer=store)

    async def run(x: int) -> int:
        thread = config(str(uuid.uuid4()), 2)
        given = {"x": x, "results": []}
        return sum((await compiled.ainvoke(given, thread, durability="sync"))["results"])

    return run


async def asking(store: Any) -> Ask:
    async def ask(state: State) -> Fields:
        return {"x": interrupt({"x": state["x"]})}

    graph = StateGraph(State)
    graph.add_node("add", add)
    graph.add_node("ask", ask)
    graph.add_edge(START, "add")
    graph.add_edge("add", "ask")
    graph.add_edge("ask", END)
    compiled = graph.compile(checkpointer=store)

    async def run(x: int) -> None:
        thread = config(str(uuid.uuid4()), 2)
        found = await compiled.ainvoke({"x": x}, thread, durability="sync")
        if "__interrupt__" not in found:
            raise AssertionError("the run has not asked")

    return run


class Left(Exception):
    """The run is left where it is."""


async def leave(place: Place, rounds: int, *, talking: bool) -> None:
    visits = 0

    def leave_last() -> None:
        nonlocal visits
        visits += 1
        if visits > rounds:
            raise Left

    async with storing(place) as saver:
        graph = looping(saver, rounds + 1, leave_last, talking=talking)
        with suppress(Left):
            await graph.ainvoke({"x": 0}, config("left", rounds), durability="sync")


async def go_on(place: Place, rounds: int, stamp: Stamp, *, talking: bool) -> int:
    async with storing(place) as saver:
        graph = looping(saver, rounds + 1, stamp, talking=talking)
        return (await graph.ainvoke(None, config("left", rounds), durability="sync"))["x"]
