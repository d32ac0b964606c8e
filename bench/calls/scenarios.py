"""The scenarios of model calls, alike for every competitor. Runs inside the measured process; standard library only.

What is told is the time that the measured process computes, not how long it waits: the server is another process, and the
machine has other things to do.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from bench.calls.server import answering
from bench.scenarios import BATCH_SECONDS, Measure, Measured, Scenario, process_seconds

if TYPE_CHECKING:
    from bench.calls.caller import Ask, Caller

QUESTION: Final = " ".join(f"word{number}" for number in range(40))
WARM: Final = 20


def opened(vendor: str, perform: Callable[[Ask, int], Awaitable[Measured]]) -> Measure:
    """A measure with a server to ask, and a caller that is warm."""

    async def measure(caller: Caller, size: int) -> Measured:
        with answering() as addresses:
            async with getattr(caller, vendor)(addresses[vendor]) as ask:
                for _ in range(WARM):
                    await check(ask)
                return await perform(ask, size)

    return measure


async def check(ask: Ask) -> None:
    """Ask, and compare: a competitor that loses a piece has no time."""
    found = await ask(QUESTION)
    if found != QUESTION:
        raise AssertionError(f"the answer is {found!r}, not {QUESTION!r}")


async def alone(ask: Ask, size: int) -> Measured:
    """Calls one after the other."""
    calls, began, worked = 0, time.perf_counter(), time.process_time()
    while (spent := time.perf_counter() - began) < BATCH_SECONDS or calls < size:
        await check(ask)
        calls += 1
    return {"value": 1e6 * (time.process_time() - worked) / calls, "wall": 1e6 * spent / calls}


async def together(ask: Ask, size: int) -> Measured:
    """Calls all at once, after a first round that opens the connections."""
    await asyncio.gather(*(check(ask) for _ in range(size)))
    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(check(ask) for _ in range(size)))
    worked, spent = time.process_time() - worked, time.perf_counter() - began
    return {"value": 1e6 * worked / size, "wall": 1e6 * spent / size}


def first_answer(vendor: str) -> Measure:
    """A whole fresh process that asks once, less one that does nothing."""

    async def measure(caller: Caller, size: int) -> Measured:
        name = getattr(caller, "__name__", "")
        with answering() as addresses:
            code = (
                "import asyncio\n"
                f"from {name} import {vendor}\n"
                "async def main():\n"
                f"    async with {vendor}({addresses[vendor]!r}) as ask:\n"
                "        assert await ask('Hello there.') == 'Hello there.'\n"
                "asyncio.run(main())"
            )
            process_seconds(code)
            over = [process_seconds(code) - process_seconds("pass") for _ in range(size)]
        return {"value": 1e3 * statistics.median(over)}

    return measure


CALLS: Final = (
    Scenario("call", "a call, OpenAI", "us/call", opened("openai", alone), 100, suite="calls"),
    Scenario(
        "call_anthropic",
        "a call, Anthropic",
        "us/call",
        opened("anthropic", alone),
        100,
        suite="calls",
    ),
    Scenario(
        "streams",
        "1,000 calls at once, OpenAI",
        "us/call",
        opened("openai", together),
        1_000,
        suite="calls",
    ),
    Scenario(
        "first_openai",
        "process: first answer, OpenAI",
        "ms",
        first_answer("openai"),
        5,
        suite="calls",
    ),
    Scenario(
        "first_anthropic",
        "process: first answer, Anthropic",
        "ms",
        first_answer("anthropic"),
        5,
        suite="calls",
    ),
)
