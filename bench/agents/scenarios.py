"""The scenarios of agents, alike for every competitor. Runs inside the measured process; standard library only."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Final

from bench.scenarios import (
    Gate,
    Measured,
    Scenario,
    check,
    import_time,
    resident_bytes,
    seconds_per_call,
)

if TYPE_CHECKING:
    from bench.agents.worker import Worker

STEPS: Final = 10


async def step(worker: Worker, size: int) -> Measured:
    """Runs of so many steps, one after the other."""
    program = worker.agent(size)
    await check(program, 0, size - 1)
    return {"value": 1e6 * await seconds_per_call(lambda: program(0)) / size}


async def together(worker: Worker, size: int) -> Measured:
    """So many runs at once, by one agent."""
    program = worker.agent(STEPS)
    await check(program, 0, STEPS - 1)

    async def all_of_them() -> None:
        found = await asyncio.gather(*(program(0) for _ in range(size)))
        if set(found) != {STEPS - 1}:
            raise AssertionError(f"the runs gave {set(found)!r}, not {STEPS - 1}")

    return {"value": 1e6 * await seconds_per_call(all_of_them) / (size * STEPS)}


async def memory(worker: Worker, size: int) -> Measured:
    """What the process grows by per run, when each of them waits in its tool."""
    gate = Gate(expected=size + 1)
    program = worker.agent(2, gate.hold)
    # That one run pays for what the first run of a process costs.
    warm = asyncio.ensure_future(program(0))
    for _ in range(1_000):
        await asyncio.sleep(0)
    if gate.missing != size:
        raise AssertionError("the first run has not come to its tool")
    gc.collect()
    before = resident_bytes()
    runs = [asyncio.ensure_future(program(0)) for _ in range(size)]
    await gate.full.wait()
    growth = resident_bytes() - before
    gate.opened.set()
    found = await asyncio.gather(warm, *runs)
    if set(found) != {1}:
        raise AssertionError(f"the runs gave {set(found)!r}, not 1")
    return {"value": growth / size / 1024}


AGENTS: Final = (
    Scenario("agent_step", "a step of an agent", "us/step", step, STEPS, suite="agents"),
    Scenario("agents_1k", "1,000 agents at once", "us/step", together, 1_000, suite="agents"),
    Scenario("agent_memory", "memory of a waiting agent", "KiB", memory, 1_000, suite="agents"),
    Scenario(
        "agent_import",
        "import, over bare Python",
        "ms",
        import_time,
        7,
        ratio=False,
        suite="agents",
    ),
)
