"""agentflow: typed state, every check on, an engine made once and used for every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from agentflow import Node, append, define_workflow, field, map_each, node, route, validate

if TYPE_CHECKING:
    from agentflow import CancelSignal, Workflow
    from bench.peer import Hold, Program, Stamp, Started

TITLE = "agentflow"
DISTRIBUTION = "agentflow"
IMPORT = "import agentflow"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}

Fields = Mapping[str, Any]


class State(TypedDict):
    x: int


async def add(state: Fields) -> Fields:
    return {"x": state["x"] + 1}


async def add_and_yield(state: Fields) -> Fields:
    from asyncio import sleep

    await sleep(0)
    return {"x": state["x"] + 1}


def line(bodies: list[Any]) -> Workflow[int]:
    last = len(bodies) - 1
    return define_workflow(
        "line",
        nodes=[
            node(
                body,
                id=f"n{i}",
                requires=["x"],
                provides=["x"],
                routes=[route.to(f"n{i + 1}") if i < last else route.deliver("x")],
            )
            for i, body in enumerate(bodies)
        ],
        state=State,
        inputs=["x"],
        result=int,
    )


def program(workflow: Workflow[int], given: Fields | None = None) -> Program:
    from agentflow import Engine

    engine = Engine(workflow)
    rest = given or {}

    async def run(x: int, signal: CancelSignal | None = None) -> int:
        return await engine.run({"x": x, **rest}, signal=signal)

    return run


def chain(nodes: int, *, yielding: bool = False) -> Program:
    return program(line([add_and_yield if yielding else add] * nodes))


def loop(rounds: int) -> Program:
    count = node(
        add,
        id="count",
        requires=["x"],
        provides=["x"],
        starts_round=True,
        routes=[route.deliver("x", when=field("x") >= rounds), route.to("count")],
    )
    return program(
        define_workflow(
            "loop", nodes=[count], state=State, inputs=["x"], result=int, max_rounds=rounds
        )
    )


def branch(ways: int) -> Program:
    async def choose(state: Fields) -> None:
        return None

    async def take(state: Fields) -> Fields:
        return {"x": state["x"] + ways}

    names = [f"w{i}" for i in range(ways)]
    routes = [route.to_if_equal(name, "x", i) for i, name in enumerate(names[:-1])]
    nodes = [node(choose, requires=["x"], routes=[*routes, route.to(names[-1])])]
    nodes += [
        node(take, id=name, requires=["x"], provides=["x"], routes=[route.deliver("x")])
        for name in names
    ]
    return program(define_workflow("branch", nodes=nodes, state=State, inputs=["x"], result=int))


def wide(fields: int, rounds: int, stamp: Stamp) -> Program:
    names = [f"f{i}" for i in range(fields - 2)]
    items = Annotated[list[dict[str, str]], append]
    types: dict[str, Any] = {"x": int, "items": items, **dict.fromkeys(names, str)}
    schema: Any = TypedDict("Wide", types)  # type: ignore[misc]

    async def grow(state: Fields) -> Fields:
        stamp()
        x = state["x"]
        item = {"role": "user", "content": f"message {len(state['items'])}"}
        return {"x": x + 1, names[x % len(names)]: str(x), "items": [item]}

    growing = node(
        grow,
        requires=["x", "items"],
        provides=["x", "items"],
        may_provide=names,
        starts_round=True,
        routes=[route.deliver("x", when=field("x") >= rounds), route.to("grow")],
    )
    workflow = define_workflow("wide", nodes=[growing], state=schema, result=int, max_rounds=rounds)
    return program(workflow, {"items": [], **dict.fromkeys(names, "")})


def waiting(hold: Hold) -> Program:
    async def wait(state: Fields) -> Fields:
        await hold()
        return {"x": state["x"] + 1}

    return program(line([add, wait]))


class Fan(TypedDict):
    items: list[int]
    results: NotRequired[list[int]]


def fan(items: int, hold: Hold | None = None) -> Program:
    from agentflow import Engine

    workflow = fanning(items, hold)
    engine = Engine(workflow)

    async def run(x: int) -> int:
        return await engine.run({"items": [x] * items})

    return run


def fanning(items: int, hold: Hold | None = None) -> Workflow[int]:
    async def work(state: Fields) -> Fields:
        if hold is not None:
            await hold()
        return {"x": state["x"] + 1}

    each = map_each(
        "each",
        line([work]),
        over="items",
        item="x",
        into="results",
        concurrency=items,
        routes=[route.finish(lambda state: sum(state["results"]), reads=["results"])],
    )
    return define_workflow("fan", nodes=[each], state=Fan, inputs=["items"], result=int)


def start(program: Any) -> Started:
    from asyncio import ensure_future

    from agentflow import CancelSignal

    signal = CancelSignal()
    return ensure_future(program(0, signal)), signal.cancel


def define(nodes: int) -> object:
    # A program, because the plan of a definition may be compiled only when an engine first needs it.
    return program(line([add] * nodes))


def first() -> object:
    look = node(
        add,
        id="look",
        requires=["x"],
        provides=["x"],
        routes=[route.deliver("x", when=field("x") > 1), route.to("tell")],
    )
    tell = node(add, id="tell", requires=["x"], provides=["x"], routes=[route.deliver("x")])
    return define_workflow("first", nodes=[look, tell], state=State, inputs=["x"], result=int)


def graph(nodes: int) -> Callable[[], object]:
    """A graph of `nodes` nodes with three routes each, two of them on data; gives what proves it."""
    chosen = random.Random(7)

    def body(at: int) -> Node:
        targets = [min(nodes - 1, at + chosen.randint(1, 9)) for _ in range(2)]
        last = at == nodes - 1
        return node(
            add,
            id=f"n{at}",
            requires=["x"],
            provides=[f"f{at}"],
            routes=[
                *(
                    route.to(f"n{target}", field(f"f{at}") == value)
                    for value, target in enumerate(targets)
                    if target != at
                ),
                route.deliver("x") if last else route.to(f"n{at + 1}"),
            ],
        )

    made = [body(at) for at in range(nodes)]
    return lambda: validate(*made, inputs=["x"])
