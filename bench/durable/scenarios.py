"""The durable scenarios: what is measured, alike for every competitor that keeps its runs. Runs inside the measured process."""

from __future__ import annotations

import asyncio
import functools
import gc
import itertools
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from bench.durable.keeper import Ask, Keeper
from bench.durable.place import Place, Sqlite, postgresql, sqlite
from bench.durable.raw import Write, writing
from bench.scenarios import Measure, Measured, Scenario, resident_bytes

MakePlace = Callable[[], AbstractContextManager[Place]]

FULL: MakePlace = functools.partial(sqlite, "FULL")
RELAXED: MakePlace = functools.partial(sqlite, "NORMAL")

BATCH = 25
"""Visits between two looks at the clock; after each as many raw writes follow, so that both share the disk's mood."""

NODES = 20
ALONE = 200
FANS = 6
WARM_UP = 1_000


class Alternation:
    """Times a run from inside, batch by batch, and as many raw writes between two batches of visits.

    Args:
        write: A raw write.
    """

    def __init__(self, write: Write) -> None:
        self.visits: list[float] = []
        self.raw: list[float] = []
        self._write = write
        self._count = 0
        self._began = 0.0

    def stamp(self) -> None:
        """Called at each visit."""
        if self._count % BATCH == 0:
            ended = time.perf_counter()
            # The first batch begins with what starting a run costs; that is no visit.
            if self._count > BATCH:
                self.visits.append((ended - self._began) / BATCH)
            for at in range(BATCH):
                self._write(self._count + at)
            self._began = time.perf_counter()
            self.raw.append((self._began - ended) / BATCH)
        self._count += 1


def visit(make_place: MakePlace) -> Measure:
    """One visit of a run that is alone, and beside it one raw insert and commit of as many bytes."""

    async def measure(peer: Keeper, size: int) -> Measured:
        with make_place() as place, writing(place) as write:
            async with peer.storing(place) as store:
                times = Alternation(write)
                rounds = size - size % BATCH + 1
                program = await peer.loop(store, rounds, times.stamp)
                await check(program(0), rounds)
        return {
            "value": 1e6 * statistics.median(times.visits),
            "raw": 1e6 * statistics.median(times.raw),
        }

    return measure


async def check(run: Awaitable[int], expected: int) -> None:
    found = await run
    if found != expected:
        raise AssertionError(f"the run gave {found!r}, not {expected!r}")


def many(make_place: MakePlace) -> Measure:
    """A visit of one among many runs; and of one alone, before and after."""

    async def measure(peer: Keeper, size: int) -> Measured:
        alone: list[float] = []
        with make_place() as place:
            async with peer.storing(place) as store:
                line = await peer.line(store, NODES)
                await check(line(0), NODES)
                alone.append(await alone_seconds(peer, store))
                began = time.perf_counter()
                found = await asyncio.gather(*(line(at) for at in range(size)))
                together = (time.perf_counter() - began) / (size * NODES)
                alone.append(await alone_seconds(peer, store))
        if found != [at + NODES for at in range(size)]:
            raise AssertionError("some of the runs gave something else")
        return {"value": 1e6 * together, "alone": 1e6 * statistics.mean(alone)}

    return measure


def fan(make_place: MakePlace) -> Measure:
    """One of the branches of a run, all at the same time, each of which is kept."""

    async def measure(peer: Keeper, size: int) -> Measured:
        spent: list[float] = []
        with make_place() as place:
            async with peer.storing(place) as store:
                program = await peer.fan(store, size)
                for x in range(FANS):
                    began = time.perf_counter()
                    await check(program(x), size * (x + 1))
                    spent.append((time.perf_counter() - began) / size)
        # The first run warms up.
        return {"value": 1e6 * statistics.median(spent[1:])}

    return measure


async def alone_seconds(peer: Keeper, store: object) -> float:
    stamps: list[float] = []
    loop = await peer.loop(store, ALONE, lambda: stamps.append(time.perf_counter()))
    await check(loop(0), ALONE)
    return (stamps[-1] - stamps[0]) / (ALONE - 1)


async def growing(peer: Keeper, size: int) -> Measured:
    """What is stored of a run that adds a message at every visit; and what its first and its last visits take."""
    stamps: list[float] = []
    with RELAXED() as place:
        assert isinstance(place, Sqlite)
        async with peer.storing(place) as store:
            talk = await peer.talk(store, size, lambda: stamps.append(time.perf_counter()))
            await check(talk(0), size)
        stored = place.stored_bytes()
    steps = [after - before for before, after in itertools.pairwise(stamps)]
    tenth = max(1, len(steps) // 10)
    measured = {"value": stored / 1024}
    if steps:
        # The first few warm up what every visit uses.
        measured["start"] = 1e6 * statistics.median(steps[10 : tenth + 10])
        measured["end"] = 1e6 * statistics.median(steps[-tenth:])
        measured["step"] = 1e6 * statistics.mean(steps)
    return measured


def resume(*, talking: bool) -> Measure:
    """From the decision to go on with a run that was left, to its next visit; the store is opened meanwhile."""

    async def measure(peer: Keeper, size: int) -> Measured:
        reached: list[float] = []
        with RELAXED() as place:
            await peer.leave(place, size, talking=talking)
            gc.collect()
            began = time.perf_counter()
            gone_on = peer.go_on(
                place, size, lambda: reached.append(time.perf_counter()), talking=talking
            )
            await check(gone_on, size + 1)
        if len(reached) != 1:
            raise AssertionError(f"{len(reached)} visits were made instead of the last one")
        return {"value": 1e3 * (reached[0] - began)}

    return measure


async def suspended(peer: Keeper, size: int) -> Measured:
    """What the process holds of a run that waits for an answer."""
    with RELAXED() as place:
        async with peer.storing(place) as store:
            ask = await peer.asking(store)
            # Caches of the interpreter and of the database fill up first.
            await together(ask, min(size, WARM_UP))
            gc.collect()
            resident, blocks = resident_bytes(), sys.getallocatedblocks()
            began = time.perf_counter()
            await together(ask, size)
            spent = time.perf_counter() - began
            gc.collect()
            held = resident_bytes() - resident
            objects = sys.getallocatedblocks() - blocks
    return {
        "value": max(0, held) / size / 1024,
        "blocks": objects / size,
        "each": 1e6 * spent / size,
    }


async def together(ask: Ask, count: int, at_once: int = 200) -> None:
    """Have so many runs ask, some of them at the same time."""
    for first in range(0, count, at_once):
        await asyncio.gather(*(ask(x) for x in range(first, min(first + at_once, count))))


def durable(
    id: str, title: str, unit: str, measure: Measure, size: int, *, server: bool = False
) -> Scenario:
    return Scenario(id, title, unit, measure, size, timeout=300.0, suite="durable", server=server)


DURABLE = (
    durable("full", "visit, SQLite full", "us/visit", visit(FULL), 500),
    durable("relaxed", "visit, SQLite relaxed", "us/visit", visit(RELAXED), 3_000),
    durable("postgresql", "visit, PostgreSQL", "us/visit", visit(postgresql), 500, server=True),
    durable("many_full", "1,000 runs, SQLite full", "us/visit", many(FULL), 1_000),
    durable(
        "many_postgresql",
        "1,000 runs, PostgreSQL",
        "us/visit",
        many(postgresql),
        1_000,
        server=True,
    ),
    durable("fan_full", "100 branches, SQLite full", "us/branch", fan(FULL), 100),
    durable(
        "fan_postgresql", "100 branches, PostgreSQL", "us/branch", fan(postgresql), 100, server=True
    ),
    durable("growing", "stored, 1,000 messages", "KiB", growing, 1_000),
    durable("resume", "resume, 10,000 visits", "ms", resume(talking=False), 10_000),
    durable("resume_talk", "resume, 10,000 messages", "ms", resume(talking=True), 10_000),
    durable("suspended", "held, 10,000 suspended runs", "KiB/run", suspended, 10_000),
)
