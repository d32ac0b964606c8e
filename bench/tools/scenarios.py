"""The scenarios of tools and extras, alike for every competitor. Runs inside the measured process; standard library only."""

from __future__ import annotations

import statistics
from typing import Final

from bench.scenarios import (
    Measure,
    Measured,
    Scenario,
    process_seconds,
    seconds_per_call,
)
from bench.tools.smith import ARGUMENTS, Smith


async def called(smith: Smith, size: int) -> Measured:
    act = smith.calling(size)
    if await act() != "2 of checkout":
        raise AssertionError("the calls gave something else")
    return {"value": 1e6 * await seconds_per_call(act) / size}


async def validated(smith: Smith, size: int) -> Measured:
    act = smith.validating()
    if act() != ARGUMENTS:
        raise AssertionError("the arguments are not what was given")

    async def many() -> None:
        for _ in range(size):
            act()

    return {"value": 1e6 * await seconds_per_call(many) / size}


async def made(smith: Smith, size: int) -> Measured:
    act = smith.making()
    if set(act()["properties"]) != set(ARGUMENTS):  # type: ignore[call-overload]
        raise AssertionError("the schema has other parameters")

    async def many() -> None:
        for _ in range(size):
            act()

    return {"value": 1e6 * await seconds_per_call(many) / size}


def extra(name: str) -> Measure:
    """A whole fresh process that imports what an extra is for, less one that does nothing."""

    async def measure(smith: Smith, size: int) -> Measured:
        code = smith.EXTRAS[name]
        process_seconds(code)
        over = [process_seconds(code) - process_seconds("pass") for _ in range(size)]
        return {"value": 1e3 * statistics.median(over)}

    return measure


def tools(id: str, title: str, unit: str, measure: Measure, size: int) -> Scenario:
    return Scenario(id, title, unit, measure, size, suite="tools")


TOOLS: Final = (
    tools("tool", "a tool call", "us/call", called, 100),
    tools("arguments", "arguments validated", "us", validated, 100),
    tools("schema", "a tool made, with its schema", "us", made, 10),
    *(
        tools(f"extra_{name}", f"process: import, {name}", "ms", extra(name), 5)
        for name in ("openai", "anthropic", "pydantic-ai", "mcp", "mock")
    ),
)
