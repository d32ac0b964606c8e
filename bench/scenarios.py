"""The scenarios: what is measured, alike for every competitor. Runs inside the measured process; standard library only."""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peer import Hold, Peer, Program

Measured = dict[str, float]
Measure = Callable[[Any, int], Coroutine[None, None, Measured]]

BATCH_SECONDS = 0.2
WAYS = 20
FIELDS = 50
NODES = 10
HEAVY = ("networkx", "jsonschema", "structlog", "rich")


class Unavailable(Exception):
    """A scenario cannot be measured here; the message says why."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table.

    Args:
        id: The name on the command line and in the JSON file.
        title: What the table calls it.
        unit: The unit of the value.
        measure: Gives the value, and what else the marks want to know, for a competitor and a size.
        size: What `measure` gets: rounds, runs, nodes or repeats.
        ratio: Whether the value is worth dividing by that of the floor.
        timeout: Seconds after which the process is ended and the cell is n/a.
        suite: The package with the competitors' programs for it.
        server: Whether it needs a PostgreSQL server.
    """

    id: str
    title: str
    unit: str
    measure: Measure
    size: int
    ratio: bool = True
    timeout: float = 180.0
    suite: str = "peers"
    server: bool = False


async def seconds_per_call(act: Callable[[], Awaitable[object]]) -> float:
    """Seconds of one `await act()`, over a batch long enough for the clock; shorter batches before it warm up."""
    calls = 1
    while True:
        began = time.perf_counter()
        for _ in range(calls):
            await act()
        spent = time.perf_counter() - began
        if spent >= BATCH_SECONDS:
            return spent / calls
        calls = max(2 * calls, int(1.2 * calls * BATCH_SECONDS / max(spent, 1e-6)))


async def check(program: Program, x: int, expected: int) -> None:
    """Run once and compare: a competitor that does not do the work has no time."""
    found = await program(x)
    if found != expected:
        raise AssertionError(f"the run from x={x} gave {found!r}, not {expected!r}")


async def chain(peer: Peer, size: int) -> Measured:
    program = peer.chain(size)
    await check(program, 0, size)
    return {"value": 1e6 * await seconds_per_call(lambda: program(0)) / size}


async def loop(peer: Peer, size: int) -> Measured:
    await check(peer.loop(100), 0, 100)
    program = peer.loop(size)
    per_run = await seconds_per_call(lambda: program(0))
    await check(program, size - 10, size)
    return {"value": 1e6 * per_run / size}


async def branch(peer: Peer, size: int) -> Measured:
    program = peer.branch(size)
    for way in range(size):
        await check(program, way, size + way)

    async def each_way() -> None:
        for way in range(size):
            await program(way)

    return {"value": 1e6 * await seconds_per_call(each_way) / (2 * size)}


def concurrent(*, yielding: bool) -> Measure:
    async def measure(peer: Peer, size: int) -> Measured:
        program = peer.chain(NODES, yielding=yielding)
        await check(program, 0, NODES)

        async def together() -> None:
            await asyncio.gather(*(program(0) for _ in range(size)))

        return {"value": 1e6 * await seconds_per_call(together) / (size * NODES)}

    return measure


async def wide(peer: Peer, size: int) -> Measured:
    stamps: list[float] = []
    now, note = time.perf_counter, stamps.append
    program = peer.wide(FIELDS, size, lambda: note(now()))
    # A whole run warms up: a cold start would make the end look cheaper than it is.
    await check(program, 0, size)
    tenth = size // 10
    passes: list[tuple[float, float, float]] = []
    began = now()
    while not passes or now() - began < BATCH_SECONDS:
        stamps.clear()
        await program(0)
        whole = (stamps[-1] - stamps[0]) / (size - 1)
        first, last = stamps[tenth] - stamps[0], stamps[-1] - stamps[-1 - tenth]
        passes.append((whole, first / tenth, last / tenth))
    value, start, end = (1e6 * statistics.median(times) for times in zip(*passes, strict=True))
    return {"value": value, "start": start, "end": end}


class Gate:
    """Where waiting runs are held until it opens; tells when as many as expected have arrived."""

    def __init__(self, expected: int) -> None:
        self.missing = expected
        self.full = asyncio.Event()
        self.opened = asyncio.Event()

    async def hold(self) -> None:
        self.missing -= 1
        if self.missing <= 0:
            self.full.set()
        await self.opened.wait()


async def cancel(peer: Peer, size: int) -> Measured:
    spent = []
    for _ in range(size):
        gate = Gate(expected=1)
        run, stop = peer.start(peer.waiting(gate.hold))
        await gate.full.wait()
        began = time.perf_counter()
        stop()
        await asyncio.wait([run])
        spent.append(time.perf_counter() - began)
        if not was_cancelled(run):
            raise AssertionError("the cancelled run completed")
    return {"value": 1e3 * statistics.median(spent)}


async def busy_cancel(peer: Peer, size: int) -> Measured:
    program = peer.loop(size)
    began = 0.0
    spent = []
    for _ in range(5):
        run, stop = peer.start(program)

        def now_stop(stop: Callable[[], object] = stop) -> None:
            nonlocal began
            began = time.perf_counter()
            stop()

        timer = asyncio.get_running_loop().call_later(0.02, now_stop)
        await asyncio.wait([run])
        spent.append(time.perf_counter() - began)
        timer.cancel()
        if not was_cancelled(run):
            raise Unavailable("a run that never suspends goes on to its end")
    return {"value": 1e3 * statistics.median(spent)}


def was_cancelled(run: asyncio.Future[int]) -> bool:
    return run.cancelled() or run.exception() is not None


async def memory(peer: Peer, size: int) -> Measured:
    return await grown(peer.waiting, size, expected=2)


async def grown(made: Callable[[Hold], Program], size: int, *, expected: int) -> Measured:
    """What the process grows by per run, when so many of them wait at a gate."""
    # Full only with the warm-up: that one run pays for what the first run of a process costs.
    gate = Gate(expected=size + 1)
    program = made(gate.hold)
    warm = asyncio.ensure_future(program(0))
    for _ in range(1_000):
        await asyncio.sleep(0)
    if gate.missing != size:
        raise AssertionError("the first run has not come to where it waits")
    gc.collect()
    before = resident_bytes()
    runs = [asyncio.ensure_future(program(0)) for _ in range(size)]
    await gate.full.wait()
    growth = resident_bytes() - before
    gate.opened.set()
    results = await asyncio.gather(warm, *runs)
    if set(results) != {expected}:
        raise AssertionError(f"the runs gave {set(results)!r}, not {expected}")
    return {"value": growth / size / 1024}


async def fan(peer: Peer, size: int) -> Measured:
    program = peer.fan(size)
    await check(program, 1, 2 * size)
    return {"value": 1e6 * await seconds_per_call(lambda: program(0)) / size}


async def fan_memory(peer: Peer, size: int) -> Measured:
    """What the process grows by per item, when each of them waits; and how long it takes until they all do."""
    await check(peer.fan(NODES), 0, NODES)
    gate = Gate(expected=size)
    program = peer.fan(size, gate.hold)
    gc.collect()
    before, began = resident_bytes(), time.perf_counter()
    run = asyncio.ensure_future(program(0))
    await gate.full.wait()
    spent, growth = time.perf_counter() - began, resident_bytes() - before
    gate.opened.set()
    found = await run
    if found != size:
        raise AssertionError(f"the run gave {found!r}, not {size!r}")
    return {"value": growth / size / 1024, "each": 1e6 * spent / size}


def resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        raise Unavailable("this system does not tell the memory of a process in /proc")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def define(peer: Peer, size: int) -> Measured:
    peer.define(NODES)

    async def act() -> None:
        peer.define(size)

    return {"value": 1e3 * await seconds_per_call(act)}


async def prove(peer: Peer, size: int) -> Measured:
    """Prove everything about a graph of `size` nodes and three routes a node; only one competitor does."""
    graph = getattr(peer, "graph", None)
    if graph is None:
        raise Unavailable("it proves nothing about a graph")
    act = graph(size)
    act()
    began = time.perf_counter()
    act()
    return {"value": 1e3 * (time.perf_counter() - began), "nodes": float(size)}


def process_output(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def process_seconds(code: str) -> float:
    began = time.perf_counter()
    process_output(code)
    return time.perf_counter() - began


async def import_time(peer: Peer, size: int) -> Measured:
    loaded = process_output(f"import sys; {peer.IMPORT}; print(*sys.modules)").split()
    over = [process_seconds(peer.IMPORT) - process_seconds("pass") for _ in range(size)]
    heavy = {f"loads {name}": float(name in loaded) for name in HEAVY}
    return {"value": 1e3 * statistics.median(over), "modules": float(len(loaded)), **heavy}


async def first_definition(peer: Peer, size: int) -> Measured:
    code = f"from {peer.__name__} import first; first()"
    process_seconds(code)
    return {"value": 1e3 * statistics.median(process_seconds(code) for _ in range(size))}


SCENARIOS = (
    Scenario("chain", "chain of 10", "us/visit", chain, NODES),
    Scenario("loop_1k", "loop, 1,000 rounds", "us/visit", loop, 1_000),
    Scenario("loop_100k", "loop, 100,000 rounds", "us/visit", loop, 100_000),
    Scenario("branch", "branch, 1 of 20", "us/visit", branch, WAYS),
    Scenario("concurrent", "1,000 runs at once", "us/visit", concurrent(yielding=False), 1_000),
    Scenario("yielding", "same, nodes yield", "us/visit", concurrent(yielding=True), 1_000),
    Scenario("wide", "50 fields, growing list", "us/visit", wide, 5_000),
    Scenario("define", "define 1,000 nodes", "ms", define, 1_000),
    Scenario("prove_1k", "prove 1,000 nodes", "ms", prove, 1_000, ratio=False),
    Scenario("prove_30k", "prove 30,000 nodes", "ms", prove, 30_000, ratio=False),
    Scenario("import", "import, over bare Python", "ms", import_time, 7, ratio=False),
    Scenario("first", "process: first definition", "ms", first_definition, 7, ratio=False),
    Scenario("cancel", "cancel a waiting run", "ms", cancel, 20, ratio=False),
    Scenario("busy_cancel", "cancel a busy loop", "ms", busy_cancel, 300_000, ratio=False),
    Scenario("memory", "memory of a waiting run", "KiB", memory, 1_000),
    Scenario("fan_1k", "fan-out, 1,000 items", "us/item", fan, 1_000),
    Scenario("fan_10k", "fan-out, 10,000 items", "us/item", fan, 10_000),
    Scenario("fan_memory", "memory of a waiting item", "KiB", fan_memory, 1_000),
)
