"""Waking: suspended runs go on when their time has come, in a process that lives on, without anybody asking for them.

Nothing is held for a suspended run, so the store is looked into from time to time. That also finds what other processes have
left; whoever claims a run first goes on with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.errors import IncompatibleRun, StoreError

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agentflow.run.engine import Engine
    from agentflow.run.entries import RunInfo
    from agentflow.run.options import ResumeOptions
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = ["waking"]


@asynccontextmanager
async def waking(
    engine: Engine[Any], store: Store, every: float, at_once: int, options: ResumeOptions
) -> AsyncIterator[None]:
    """Wake runs of an engine's workflow while the block is open; those that are under way at its end are left `interrupted`.

    Raises:
        ValueError: `every` is no number of seconds above 0.
    """
    if not every > 0:
        raise ValueError(f"every={every!r}: it takes a number of seconds above 0")
    raised: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_Waker(engine, store, at_once, options).wake, group, every)
        try:
            yield
        except Exception as error:
            # Raised below, where no group is put around it.
            raised = error
        group.cancel_scope.cancel()
    if raised is not None:
        raise raised


class _Waker:
    """Looks for runs whose time has come, and goes on with them."""

    def __init__(
        self, engine: Engine[Any], store: Store, at_once: int, options: ResumeOptions
    ) -> None:
        self._engine = engine
        self._store = store
        self._options = options
        self._places = anyio.CapacityLimiter(at_once)
        self._under_way: set[str] = set()
        self._incompatible: set[str] = set()

    async def wake(self, group: TaskGroup, every: float) -> None:
        """Look every so many seconds, until the engine is closed."""
        while not self._engine.closed:
            for info in await self._due():
                self._under_way.add(info.run_id)
                group.start_soon(self._go_on, info.run_id)
            await self._engine.clock.sleep(every)

    async def _due(self) -> list[RunInfo]:
        engine = self._engine
        try:
            found = await self._store.find(due=engine.clock.now(), limit=_ALL)
        except StoreError as error:
            # A store that is away for a while must not end the service: the runs wait there, and are found later.
            _warn("the store could not be looked into for runs that are due", error=str(error))
            return []
        return [
            info
            for info in found
            if info.workflow_id == engine.workflow.id and self._is_free(info.run_id)
        ]

    def _is_free(self, run_id: str) -> bool:
        taken = run_id in self._under_way or run_id in self._incompatible
        return not taken and self._engine.get(run_id) is None

    async def _go_on(self, run_id: str) -> None:
        try:
            async with self._places:
                # It may have waited long for its place.
                if self._engine.closed:
                    return
                async with self._engine.reopen(run_id, **self._options) as run:
                    await run.settled()
            self._learn_from(run)
        finally:
            self._under_way.discard(run_id)

    def _learn_from(self, run: Run[Any]) -> None:
        try:
            run.outcome()
        except IncompatibleRun as error:
            # With the same code nothing would be gained by another try.
            self._incompatible.add(run.id)
            _warn("a run that is due cannot go on", run_id=run.id, error=str(error))
        except BaseException:
            # Whatever else came of it is in the store, and was told to observers.
            return


def _warn(event: str, **values: Any) -> None:
    import structlog

    structlog.get_logger("agentflow").warning(event, **values)


_ALL: Final = 1_000_000
"""More runs than are due at one time."""
