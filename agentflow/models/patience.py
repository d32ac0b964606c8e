"""Patience: how long one try of a call waits for its provider, in all and for each piece."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from agentflow.errors import ModelTimeout

if TYPE_CHECKING:
    from agentflow.models.model import Model
    from agentflow.run.run import Run

__all__ = ["Patience", "patience_of"]

T = TypeVar("T")


def patience_of(run: Run[Any], model: Model) -> Patience | None:
    """The patience of a run with one try at a model; `None` where it waits for ever."""
    if model.timeout is None and model.idle_timeout is None:
        return None
    return Patience(run, timeout=model.timeout, idle_timeout=model.idle_timeout)


class Patience:
    """Waits for the pieces of one try, and for none of them too long. Time that others take does not count.

    Args:
        run: Whose clock is looked at.
        timeout: Seconds for all waits together; `None` for ever.
        idle_timeout: Seconds for each wait; `None` for ever.
    """

    __slots__ = ("_idle", "_idle_text", "_left", "_run", "_total_text")

    def __init__(self, run: Run[Any], *, timeout: float | None, idle_timeout: float | None) -> None:
        self._run = run
        self._left = math.inf if timeout is None else timeout
        self._idle = math.inf if idle_timeout is None else idle_timeout
        self._total_text = f"the answer took longer than its timeout of {timeout} s"
        self._idle_text = f"nothing came within the idle timeout of {idle_timeout} s"

    async def wait(self, what: Callable[[], Awaitable[T]]) -> T:
        """What `what` gives.

        Raises:
            ModelTimeout: It took too long, and was cancelled.
        """
        seconds = min(self._left, self._idle)
        began = self._run.monotonic()
        come: list[T] = []
        if self._run.engine.clock_is_system:
            with anyio.move_on_after(seconds):
                come.append(await what())
        else:
            await self._beside_alarm(seconds, what, come)
        if not come:
            raise ModelTimeout(self._total_text if self._left <= self._idle else self._idle_text)
        self._left -= self._run.monotonic() - began
        return come[0]

    async def _beside_alarm(
        self, seconds: float, what: Callable[[], Awaitable[T]], come: list[T]
    ) -> None:
        """The same on a clock that the event loop knows nothing of."""
        failed: list[Exception] = []

        async def ring() -> None:
            await self._run.clock.sleep(seconds)
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(ring)
            try:
                come.append(await what())
            except Exception as error:
                # Out of the group it would come in a bundle.
                failed.append(error)
            group.cancel_scope.cancel()
        if failed:
            raise failed[0]
