"""The floor: a bare loop that awaits functions and updates a dict. No engine can be faster in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from bench.peers.task import start_as_task

if TYPE_CHECKING:
    from bench.peer import Hold, Program, Stamp

TITLE = "bare loop"
DISTRIBUTION = None
IMPORT = "import asyncio"
LACKS: Mapping[str, str] = {"busy_cancel": "a loop that never suspends cannot be cancelled"}
FEWER: Mapping[str, int] = {}

State = dict[str, int]
Body = Callable[[State], Awaitable[State]]

start = start_as_task


async def add(state: State) -> State:
    return {"x": state["x"] + 1}


async def add_and_yield(state: State) -> State:
    await asyncio.sleep(0)
    return {"x": state["x"] + 1}


def line(bodies: list[Body]) -> Program:
    following: dict[str, tuple[Body, str | None]] = {
        f"n{i}": (body, f"n{i + 1}" if i + 1 < len(bodies) else None)
        for i, body in enumerate(bodies)
    }

    async def run(x: int) -> int:
        state: State = {"x": x}
        name: str | None = "n0"
        while name is not None:
            body, name = following[name]
            state.update(await body(state))
        return state["x"]

    return run


def chain(nodes: int, *, yielding: bool = False) -> Program:
    return line([add_and_yield if yielding else add] * nodes)


def loop(rounds: int) -> Program:
    async def run(x: int) -> int:
        state: State = {"x": x}
        while state["x"] < rounds:
            state.update(await add(state))
        return state["x"]

    return run


def branch(ways: int) -> Program:
    async def choose(state: State) -> State:
        return {}

    async def take(state: State) -> State:
        return {"x": state["x"] + ways}

    targets: dict[int, Body] = dict.fromkeys(range(ways), take)

    async def run(x: int) -> int:
        state: State = {"x": x}
        state.update(await choose(state))
        state.update(await targets[state["x"]](state))
        return state["x"]

    return run


def wide(fields: int, rounds: int, stamp: Stamp) -> Program:
    names = [f"f{i}" for i in range(fields - 2)]

    async def grow(state: dict[str, Any]) -> dict[str, Any]:
        stamp()
        x = state["x"]
        item = {"role": "user", "content": f"message {len(state['items'])}"}
        return {"x": x + 1, names[x % len(names)]: str(x), "items": [item]}

    async def run(x: int) -> int:
        state: dict[str, Any] = {"x": x, "items": [], **dict.fromkeys(names, "")}
        while state["x"] < rounds:
            update = await grow(state)
            state["items"].extend(update.pop("items"))
            state.update(update)
        return int(state["x"])

    return run


def waiting(hold: Hold) -> Program:
    async def wait(state: State) -> State:
        await hold()
        return {"x": state["x"] + 1}

    return line([add, wait])


def fan(items: int, hold: Hold | None = None) -> Program:
    # A task group of anyio and nothing else; imported here, because bare Python is the floor of the other rows.
    import anyio

    async def run(x: int) -> int:
        results = [0] * items

        async def work(at: int) -> None:
            if hold is not None:
                await hold()
            results[at] = (await add({"x": x}))["x"]

        async with anyio.create_task_group() as group:
            for at in range(items):
                group.start_soon(work, at)
        return sum(results)

    return run


def define(nodes: int) -> object:
    return chain(nodes)


def first() -> object:
    return {"look": (add, "tell"), "tell": (add, None)}
