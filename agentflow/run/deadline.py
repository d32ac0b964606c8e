"""A limit of time on the clock of a run, whatever clock that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.run.detached import Detached

if TYPE_CHECKING:
    from agentflow.run.run import Run

__all__ = ["deadline"]


@contextmanager
def deadline(run: Run[Any], seconds: float) -> Iterator[None]:
    """Cancel what the block awaits when `seconds` have passed, and go on after the block."""
    if run.engine.clock_is_system:
        with anyio.move_on_after(seconds):
            yield
        return
    with anyio.CancelScope() as scope:

        async def ring() -> None:
            await run.clock.sleep(seconds)
            scope.cancel()

        alarm = Detached(run.loop, ring)
        try:
            yield
        finally:
            alarm.cancel()
