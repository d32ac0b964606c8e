"""pydantic-graph 1.x: its classic graph, where each node is a class whose return type tells the ways out."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from pydantic_graph import BaseNode, End, Graph, GraphRunContext

from bench.peers.task import start_as_task

if TYPE_CHECKING:
    from bench.peer import Hold, Program, Stamp

TITLE = "pydantic-graph"
DISTRIBUTION = "pydantic-graph"
IMPORT = "from pydantic_graph import BaseNode, Graph"
LACKS: Mapping[str, str] = dict.fromkeys(
    ("fan_1k", "fan_10k", "fan_memory"), "its nodes run one at a time"
)
FEWER: Mapping[str, int] = {}

Run = Callable[[Any, Any], Awaitable[Any]]

start = start_as_task


@dataclass
class State:
    x: int


def node_class(name: str, run: Run, *ways: Any) -> type[Any]:
    """A node class as an author would write it by hand, with `ways` as the return type of `run`."""
    run.__annotations__ = {"ctx": GraphRunContext, "return": Union[ways]}  # noqa: UP007
    return type(name, (BaseNode,), {"run": run})


def adder(name: str, following: type[Any] | None, act: Callable[[], Awaitable[None]] | None) -> Any:
    """A node that adds 1, after awaiting `act()` if given, and goes to `following` or ends the run."""

    async def add(self: Any, ctx: Any) -> Any:
        ctx.state.x += 1
        return End(ctx.state.x) if following is None else following()

    async def act_and_add(self: Any, ctx: Any) -> Any:
        assert act is not None
        await act()
        ctx.state.x += 1
        return End(ctx.state.x) if following is None else following()

    return node_class(name, add if act is None else act_and_add, following or End[int])


def line(acts: list[Callable[[], Awaitable[None]] | None]) -> list[type[Any]]:
    nodes: list[type[Any]] = []
    for i, act in reversed(list(enumerate(acts))):
        nodes.insert(0, adder(f"N{i}", nodes[0] if nodes else None, act))
    return nodes


def program(nodes: list[type[Any]], schema: Any = State) -> Program:
    graph: Any = Graph(nodes=nodes)

    async def run(x: int) -> int:
        return (await graph.run(nodes[0](), state=schema(x))).output

    return run


async def pause() -> None:
    from asyncio import sleep

    await sleep(0)


def chain(nodes: int, *, yielding: bool = False) -> Program:
    return program(line([pause if yielding else None] * nodes))


def loop(rounds: int) -> Program:
    async def count(self: Any, ctx: Any) -> Any:
        ctx.state.x += 1
        return End(ctx.state.x) if ctx.state.x >= rounds else node()

    node = node_class("Count", count, End[int])
    count.__annotations__["return"] = Union[node, End[int]]  # noqa: UP007
    return program([node])


def branch(ways: int) -> Program:
    async def choose(self: Any, ctx: Any) -> Any:
        return targets[ctx.state.x]()

    def taker(way: int) -> type[Any]:
        async def take(self: Any, ctx: Any) -> Any:
            ctx.state.x += ways
            return End(ctx.state.x)

        return node_class(f"W{way}", take, End[int])

    targets = [taker(way) for way in range(ways)]
    return program([node_class("Choose", choose, *targets), *targets])


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

    async def grow(self: Any, ctx: Any) -> Any:
        stamp()
        state = ctx.state
        state.items.append({"role": "user", "content": f"message {len(state.items)}"})
        setattr(state, names[state.x % len(names)], str(state.x))
        state.x += 1
        return End(state.x) if state.x >= rounds else node()

    node = node_class("Grow", grow, End[int])
    grow.__annotations__["return"] = Union[node, End[int]]  # noqa: UP007
    return program([node], schema)


def waiting(hold: Hold) -> Program:
    return program(line([None, hold]))


def define(nodes: int) -> object:
    return program(line([None] * nodes))


def first() -> object:
    async def look(self: Any, ctx: Any) -> Any:
        ctx.state.x += 1
        return End(ctx.state.x) if ctx.state.x > 1 else tell()

    tell = adder("Tell", None, None)
    return program([node_class("Look", look, tell, End[int]), tell])
