"""A limit of time on the clock of a run, whatever clock that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from agentflow.run.detached import Detached
from agentflow.run.loop import Latch

if TYPE_CHECKING:
    from agentflow.run.run import Run

__all__ = ["opens_within"]


async def opens_within(seconds: float, latch: Latch, run: Run[Any]) -> bool:
    """Wait for the latch as long as `seconds` on the clock of the run, and tell whether it has opened."""
    if run.engine.clock_is_system:
        with anyio.move_on_after(seconds):
            await latch.wait()
        return latch.opened
    with anyio.CancelScope() as scope:

        async def ring() -> None:
            await run.clock.sleep(seconds)
            scope.cancel()

        alarm = Detached(run.loop, ring)
        try:
            await latch.wait()
        finally:
            await alarm.leave()
    return latch.opened
