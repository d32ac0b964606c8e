"""pydantic-graph 2.x: steps put together with its `GraphBuilder`."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_graph import GraphBuilder, reduce_sum

from bench.peers.task import start_as_task

if TYPE_CHECKING:
    from bench.peer import Hold, Program, Stamp

TITLE = "pydantic-graph"
DISTRIBUTION = "pydantic-graph"
IMPORT = "from pydantic_graph import GraphBuilder"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}

start = start_as_task


@dataclass
class State:
    x: int


async def add(ctx: Any) -> int:
    ctx.state.x += 1
    return ctx.state.x


async def add_and_yield(ctx: Any) -> int:
    from asyncio import sleep

    await sleep(0)
    ctx.state.x += 1
    return ctx.state.x


def line(bodies: list[Any]) -> Any:
    graph = GraphBuilder(state_type=State, output_type=int)
    steps = [graph.step(body, node_id=f"n{i}") for i, body in enumerate(bodies)]
    for source, target in zip([graph.start_node, *steps], [*steps, graph.end_node], strict=True):
        graph.add_edge(source, target)
    return graph.build()


def program(graph: Any, schema: Any = State) -> Program:
    async def run(x: int) -> int:
        return await graph.run(state=schema(x))

    return run


def chain(nodes: int, *, yielding: bool = False) -> Program:
    return program(line([add_and_yield if yielding else add] * nodes))


def looping(schema: Any, body: Any, rounds: int) -> Any:
    graph = GraphBuilder(state_type=schema, output_type=int)
    count = graph.step(body, node_id="count")
    graph.add_edge(graph.start_node, count)
    graph.add(
        graph.edge_from(count).to(
            graph.decision()
            .branch(graph.match(int, matches=lambda x: x >= rounds).to(graph.end_node))
            .branch(graph.match(int).to(count))
        )
    )
    return graph.build()


def loop(rounds: int) -> Program:
    return program(looping(State, add, rounds))


def branch(ways: int) -> Program:
    async def choose(ctx: Any) -> int:
        return ctx.state.x

    async def take(ctx: Any) -> int:
        ctx.state.x += ways
        return ctx.state.x

    def equals(way: int) -> Any:
        return lambda x: x == way

    graph = GraphBuilder(state_type=State, output_type=int)
    chooser = graph.step(choose, node_id="choose")
    graph.add_edge(graph.start_node, chooser)
    decision = graph.decision()
    for way in range(ways):
        taker = graph.step(take, node_id=f"w{way}")
        matches = equals(way) if way < ways - 1 else None
        decision = decision.branch(graph.match(int, matches=matches).to(taker))
        graph.add_edge(taker, graph.end_node)
    graph.add(graph.edge_from(chooser).to(decision))
    return program(graph.build())


def wide(fields: int, rounds: int, stamp: Stamp) -> Program:
    names = [f"f{i}" for i in range(fields - 2)]
    schema = dataclasses.make_dataclass(
        "Wide",
        [
            ("x", int),
            ("items", list, dataclasses.field(default_factory=list)),
            *((name, str, dataclasses.field(default="")) for name in names),
        ],
    )

    async def grow(ctx: Any) -> int:
        stamp()
        state = ctx.state
        state.items.append({"role": "user", "content": f"message {len(state.items)}"})
        setattr(state, names[state.x % len(names)], str(state.x))
        state.x += 1
        return state.x

    return program(looping(schema, grow, rounds), schema)


def waiting(hold: Hold) -> Program:
    async def wait(ctx: Any) -> int:
        await hold()
        ctx.state.x += 1
        return ctx.state.x

    return program(line([add, wait]))


def fan(items: int, hold: Hold | None = None) -> Program:
    async def split(ctx: Any) -> list[int]:
        return [ctx.state.x] * items

    async def work(ctx: Any) -> int:
        if hold is not None:
            await hold()
        return ctx.inputs + 1

    graph = GraphBuilder(state_type=State, output_type=int)
    splitting, working = graph.step(split), graph.step(work)
    total = graph.join(reduce_sum, initial=0)
    graph.add_edge(graph.start_node, splitting)
    graph.add(graph.edge_from(splitting).map().to(working))
    graph.add_edge(working, total)
    graph.add_edge(total, graph.end_node)
    return program(graph.build())


def define(nodes: int) -> object:
    return line([add] * nodes)


def first() -> object:
    graph = GraphBuilder(state_type=State, output_type=int)
    look = graph.step(add, node_id="look")
    tell = graph.step(add, node_id="tell")
    graph.add_edge(graph.start_node, look)
    graph.add(
        graph.edge_from(look).to(
            graph.decision()
            .branch(graph.match(int, matches=lambda x: x > 1).to(graph.end_node))
            .branch(graph.match(int).to(tell))
        )
    )
    graph.add_edge(tell, graph.end_node)
    return graph.build()
