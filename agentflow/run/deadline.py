"""A limit of time on the clock of a run, whatever clock that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.run.detached import Detached
from agentflow.run.loop import Latch

if TYPE_CHECKING:
    from agentflow.run.run import Run

__all__ = ["alarm", "opens_within"]


async def opens_within(seconds: float, latch: Latch, run: Run[Any]) -> bool:
    """Wait for the latch as long as `seconds` on the clock of the run, and tell whether it has opened."""
    if run.engine.clock_is_system:
        with anyio.move_on_after(seconds):
            await latch.wait()
        return latch.opened
    with anyio.CancelScope() as scope:
        ringing = alarm(seconds, run, scope.cancel)
        try:
            await latch.wait()
        finally:
            await ringing.leave()
    return latch.opened


def alarm(seconds: float, run: Run[Any], ring: Callable[[], None]) -> Detached:
    """Call `ring` when so many seconds have passed on the clock of the run, unless that is left before."""

    async def waiting() -> None:
        await run.clock.sleep(seconds)
        ring()

    return Detached(run.loop, waiting)
