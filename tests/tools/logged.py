"""Tools that write down their calls, for the tests of what becomes of a call."""

from __future__ import annotations

from agentflow import tool

__all__ = ["LOG", "add_in_thread", "broken"]

LOG: list[str] = []
"""What was called; emptied before each test."""


@tool
def add_in_thread(a: int, b: int = 1) -> int:
    """Add, slowly."""
    LOG.append(f"add {a} {b}")
    return a + b


@tool
async def broken(times: int) -> str:
    """Fail some times, then succeed."""
    LOG.append("try")
    if len(LOG) <= times:
        raise ValueError(f"no. {len(LOG)}")
    return "ok"
