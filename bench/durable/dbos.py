"""DBOS: a workflow function whose visits are steps; the outcome of each is kept before the next begins."""

# mypy: disable-error-code="import-not-found, no-any-return, untyped-decorator"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dbos import DBOS, SetWorkflowID

from bench.durable.messages import message
from bench.durable.place import Sqlite

if TYPE_CHECKING:
    from bench.durable.keeper import Ask, Program, Stamp
    from bench.durable.place import Place

TITLE = "dbos"
DISTRIBUTION = "dbos"
LACKS: Mapping[str, str] = {"relaxed": "it has no such mode"}
FEWER: Mapping[str, int] = {
    "full": 100,
    "many_full": 25,
    "many_postgresql": 25,
    "resume": 500,
    "resume_talk": 500,
    "suspended": 100,
}

DAY = 86_400.0


class Bench:
    """What the functions of a process share: DBOS wants them declared before it is launched."""

    stamp: Stamp = staticmethod(lambda: None)
    reached: asyncio.Event | None = None


@DBOS.step()
async def add(x: int) -> int:
    Bench.stamp()
    return x + 1


@DBOS.step()
async def say(x: int) -> str:
    Bench.stamp()
    return message(x + 1)


@DBOS.workflow()
async def counting(x: int, rounds: int) -> int:
    while x < rounds:
        x = await add(x)
    return x


@DBOS.workflow()
async def fanning(x: int, items: int) -> int:
    return sum(await asyncio.gather(*(add(x) for _ in range(items))))


@DBOS.workflow()
async def talking_on(x: int, rounds: int) -> int:
    messages: list[str] = []
    while x < rounds:
        messages.append(await say(x))
        x += 1
    return x


@DBOS.workflow()
async def asking_once(x: int) -> int:
    x = await add(x)
    answer = await DBOS.recv_async("answer", timeout_seconds=DAY)
    return x if answer is None else answer


@DBOS.workflow()
async def left(rounds: int, talking: bool) -> int:
    x = 0
    while x < rounds:
        x = x + len(await say(x)) // 200 if talking else await add(x)
    if Bench.reached is not None:
        Bench.reached.set()
        await asyncio.Event().wait()
    return await add(x)


@asynccontextmanager
async def storing(place: Place) -> AsyncIterator[None]:
    config = {"name": "bench", "system_database_url": url_of(place), "log_level": "CRITICAL"}
    DBOS(config=config)
    DBOS.launch()
    try:
        yield None
    finally:
        DBOS.destroy()


def url_of(place: Place) -> str:
    if isinstance(place, Sqlite):
        return f"sqlite:///{place.path}"
    from psycopg.conninfo import conninfo_to_dict
    from sqlalchemy import URL

    parts = conninfo_to_dict(place.conninfo)
    named = {name: parts.pop(name, None) for name in ("user", "password", "dbname")}
    url = URL.create(
        "postgresql",
        username=named["user"],
        password=named["password"],
        database=named["dbname"],
        query={name: str(value) for name, value in parts.items()},
    )
    return url.render_as_string(hide_password=False)


async def loop(store: None, rounds: int, stamp: Stamp) -> Program:
    async def run(x: int) -> int:
        Bench.stamp = stamp
        return await counting(x, rounds)

    return run


async def line(store: None, nodes: int) -> Program:
    async def run(x: int) -> int:
        return await counting(x, x + nodes)

    return run


async def fan(store: None, items: int) -> Program:
    async def run(x: int) -> int:
        return await fanning(x, items)

    return run


async def talk(store: None, turns: int, stamp: Stamp) -> Program:
    async def run(x: int) -> int:
        Bench.stamp = stamp
        return await talking_on(x, turns)

    return run


async def asking(store: None) -> Ask:
    async def run(x: int) -> None:
        # Until its step is kept; from then on it waits in the process, and looks into the database now and then.
        await DBOS.start_workflow_async(asking_once, x)

    return run


async def leave(place: Place, rounds: int, *, talking: bool) -> None:
    async with storing(place):
        Bench.reached = asyncio.Event()
        with SetWorkflowID("left"):
            await DBOS.start_workflow_async(left, rounds, talking)
        await Bench.reached.wait()
        Bench.reached = None


async def go_on(place: Place, rounds: int, stamp: Stamp, *, talking: bool) -> int:
    Bench.stamp = stamp
    async with storing(place):
        # Launching recovers what was left; this only waits for it.
        handle = await DBOS.retrieve_workflow_async("left")
        return await handle.get_result()
