"""Burr: a graph built once; an application holds the state of one run, so each run builds its own."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from burr.core import ApplicationBuilder, Condition, GraphBuilder, action, default

from bench.peers.task import start_as_task

if TYPE_CHECKING:
    from bench.peer import Hold, Program, Stamp

TITLE = "burr"
DISTRIBUTION = "apache-burr"
IMPORT = "from burr.core import ApplicationBuilder, GraphBuilder"
LACKS: Mapping[str, str] = dict.fromkeys(
    ("fan_1k", "fan_10k", "fan_memory"),
    "it maps states by an application for each, in a pool of threads",
)
FEWER: Mapping[str, int] = {"wide": 1_000}

start = start_as_task


async def plain_add(state: Any) -> Any:
    return state.update(x=state["x"] + 1)


add = action(reads=["x"], writes=["x"])(plain_add)


@action(reads=["x"], writes=["x"])
async def add_and_yield(state: Any) -> Any:
    from asyncio import sleep

    await sleep(0)
    return state.update(x=state["x"] + 1)


@action(reads=[], writes=[])
async def end(state: Any) -> Any:
    return state


def line(bodies: list[Any]) -> Any:
    names = [f"n{i}" for i in range(len(bodies))]
    return (
        GraphBuilder()
        .with_actions(**dict(zip(names, bodies, strict=True)))
        .with_transitions(*itertools.pairwise(names))
        .build()
    )


def program(graph: Any, *, entry: str, ends: list[str], given: Any = None) -> Program:
    rest = given or {}

    async def run(x: int) -> int:
        application = (
            ApplicationBuilder()
            .with_graph(graph)
            .with_state(x=x, **rest)
            .with_entrypoint(entry)
            .build()
        )
        _, _, state = await application.arun(halt_after=ends)
        return state["x"]

    return run


def chain(nodes: int, *, yielding: bool = False) -> Program:
    graph = line([add_and_yield if yielding else add] * nodes)
    return program(graph, entry="n0", ends=[f"n{nodes - 1}"])


def looping(body: Any, rounds: int) -> Any:
    more = Condition(["x"], lambda state: state["x"] < rounds)
    return (
        GraphBuilder()
        .with_actions(count=body, end=end)
        .with_transitions(("count", "count", more), ("count", "end", default))
        .build()
    )


def loop(rounds: int) -> Program:
    return program(looping(add, rounds), entry="count", ends=["end"])


def branch(ways: int) -> Program:
    @action(reads=["x"], writes=[])
    async def choose(state: Any) -> Any:
        return state

    @action(reads=["x"], writes=["x"])
    async def take(state: Any) -> Any:
        return state.update(x=state["x"] + ways)

    names = [f"w{i}" for i in range(ways)]
    transitions = [
        ("choose", name, Condition.when(x=i) if i < ways - 1 else default)
        for i, name in enumerate(names)
    ]
    graph = (
        GraphBuilder()
        .with_actions(choose=choose, **dict.fromkeys(names, take))
        .with_transitions(*transitions)
        .build()
    )
    return program(graph, entry="choose", ends=names)


def wide(fields: int, rounds: int, stamp: Stamp) -> Program:
    names = [f"f{i}" for i in range(fields - 2)]

    @action(reads=["x", "items"], writes=["x", "items"])
    async def grow(state: Any) -> Any:
        stamp()
        x = state["x"]
        item = {"role": "user", "content": f"message {len(state['items'])}"}
        return state.update(**{"x": x + 1, names[x % len(names)]: str(x)}).append(items=item)

    given = {"items": [], **dict.fromkeys(names, "")}
    return program(looping(grow, rounds), entry="count", ends=["end"], given=given)


def waiting(hold: Hold) -> Program:
    @action(reads=["x"], writes=["x"])
    async def wait(state: Any) -> Any:
        await hold()
        return state.update(x=state["x"] + 1)

    return program(line([add, wait]), entry="n0", ends=["n1"])


def define(nodes: int) -> object:
    # An action of its own for each node, as an author would decorate each function.
    return line([action(reads=["x"], writes=["x"])(plain_add) for _ in range(nodes)])


def first() -> object:
    done = Condition(["x"], lambda state: state["x"] > 1)
    return (
        GraphBuilder()
        .with_actions(look=add, tell=add, end=end)
        .with_transitions(("look", "end", done), ("look", "tell", default))
        .build()
    )
