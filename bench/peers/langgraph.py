"""LangGraph: a `StateGraph` compiled once, without a checkpointer."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from bench.peers.task import start_as_task

if TYPE_CHECKING:
    from bench.peer import Hold, Program, Stamp

TITLE = "langgraph"
DISTRIBUTION = "langgraph"
IMPORT = "from langgraph.graph import StateGraph"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}

Fields = dict[str, Any]

start = start_as_task


class State(TypedDict):
    x: int


async def add(state: State) -> Fields:
    return {"x": state["x"] + 1}


async def add_and_yield(state: State) -> Fields:
    from asyncio import sleep

    await sleep(0)
    return {"x": state["x"] + 1}


def line(bodies: list[Any]) -> Any:
    graph = StateGraph(State)
    names = [f"n{i}" for i in range(len(bodies))]
    for name, body in zip(names, bodies, strict=True):
        graph.add_node(name, body)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph.compile()


def program(graph: Any, *, steps: int, given: Fields | None = None) -> Program:
    rest = given or {}
    config = {"recursion_limit": steps + 10}

    async def run(x: int) -> int:
        return (await graph.ainvoke({"x": x, **rest}, config))["x"]

    return run


def chain(nodes: int, *, yielding: bool = False) -> Program:
    return program(line([add_and_yield if yielding else add] * nodes), steps=nodes)


def looping(schema: Any, body: Any, rounds: int) -> Any:
    def onward(state: Fields) -> str:
        return END if state["x"] >= rounds else "count"

    graph = StateGraph(schema)
    graph.add_node("count", body)
    graph.add_edge(START, "count")
    graph.add_conditional_edges("count", onward, ["count", END])
    return graph.compile()


def loop(rounds: int) -> Program:
    return program(looping(State, add, rounds), steps=rounds)


def branch(ways: int) -> Program:
    async def choose(state: State) -> Fields:
        return {}

    async def take(state: State) -> Fields:
        return {"x": state["x"] + ways}

    names = [f"w{i}" for i in range(ways)]
    graph = StateGraph(State)
    graph.add_node("choose", choose)
    graph.add_edge(START, "choose")
    graph.add_conditional_edges("choose", lambda state: names[state["x"]], names)
    for name in names:
        graph.add_node(name, take)
        graph.add_edge(name, END)
    return program(graph.compile(), steps=2)


def wide(fields: int, rounds: int, stamp: Stamp) -> Program:
    names = [f"f{i}" for i in range(fields - 2)]
    items = Annotated[list[dict[str, str]], operator.add]
    types: dict[str, Any] = {"x": int, "items": items, **dict.fromkeys(names, str)}
    schema: Any = TypedDict("Wide", types)  # type: ignore[misc]

    async def grow(state: Fields) -> Fields:
        stamp()
        x = state["x"]
        item = {"role": "user", "content": f"message {len(state['items'])}"}
        return {"x": x + 1, names[x % len(names)]: str(x), "items": [item]}

    given = {"items": [], **dict.fromkeys(names, "")}
    return program(looping(schema, grow, rounds), steps=rounds, given=given)


def waiting(hold: Hold) -> Program:
    async def wait(state: State) -> Fields:
        await hold()
        return {"x": state["x"] + 1}

    return program(line([add, wait]), steps=2)


class Fan(TypedDict):
    x: int
    results: Annotated[list[int], operator.add]


def fan(items: int, hold: Hold | None = None) -> Program:
    async def work(state: State) -> Fields:
        if hold is not None:
            await hold()
        return {"results": [state["x"] + 1]}

    graph = StateGraph(Fan)
    graph.add_node("work", work)
    graph.add_conditional_edges(
        START, lambda state: [Send("work", {"x": state["x"]})] * items, ["work"]
    )
    graph.add_edge("work", END)
    compiled = graph.compile()

    async def run(x: int) -> int:
        return sum((await compiled.ainvoke({"x": x, "results": []}))["results"])

    return run


def define(nodes: int) -> object:
    return line([add] * nodes)


def first() -> object:
    graph = StateGraph(State)
    graph.add_node("look", add)
    graph.add_node("tell", add)
    graph.add_edge(START, "look")
    graph.add_conditional_edges(
        "look", lambda state: END if state["x"] > 1 else "tell", ["tell", END]
    )
    graph.add_edge("tell", END)
    return graph.compile()
