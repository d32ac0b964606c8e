"""The scenarios of agents, alike for every competitor. Runs inside the measured process; standard library only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.scenarios import Measured, Scenario, check, grown, import_time, seconds_per_call

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
    return await grown(lambda hold: worker.agent(2, hold), size, expected=1)


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
