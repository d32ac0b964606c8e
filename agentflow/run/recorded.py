"""A run on a journal that is there already, instead of a store: gone through again, with nothing claimed and nothing written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import anyio.lowlevel

from agentflow.run.beginning import private_fields, whole_input
from agentflow.run.facts import as_observer
from agentflow.run.run import Run

if TYPE_CHECKING:
    from agentflow.run.engine import Engine
    from agentflow.run.journal import Journal
    from agentflow.run.options import ResumeOptions

__all__ = ["NOWHERE", "RecordedRun"]

NOWHERE: Final[Any] = None
"""The store of such a journal: nothing is ever written."""


class _EndOfTime:
    """A clock on which every time that was waited for has come."""

    def now(self) -> datetime:
        # Not the last of all times: somebody may wait from then on.
        return datetime(9000, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, _seconds: float) -> None:
        await anyio.lowlevel.checkpoint()


class RecordedRun(Run[Any]):
    """A run that goes through a journal.

    Args:
        engine: An engine without a store.
        journal: The journal; it says what happens where nothing is recorded.
        run_id: The id of the run that it is of.
        input: What that was started with.
        options: `context`, `identity`, `deps`, `observers` and `private`, as `Engine.run` takes them.
    """

    def __init__(
        self,
        engine: Engine[Any],
        journal: Journal,
        *,
        run_id: str,
        input: Mapping[str, Any] | None,
        options: ResumeOptions,
    ) -> None:
        super().__init__(
            engine,
            engine.plan,
            input,
            run_id=run_id,
            signal=None,
            budget=None,
            context=options.get("context"),
            identity=options.get("identity"),
            deps=options.get("deps"),
            observers=[as_observer(observer) for observer in options.get("observers", ())],
            sink=None,
            private=options.get("private"),
            read=False,
        )
        self.clock = _EndOfTime()
        self._recorded = journal

    @property
    def error(self) -> BaseException | None:
        """What it ended with, when it has: nothing, if it came to a result."""
        return self._error

    @property
    def value(self) -> Any:
        """The result that it came to."""
        return self._value

    async def _execute(self) -> Any:
        self.journal = self._recorded
        private = await private_fields(self._private, self.id)
        return await self._frame.execute(whole_input(self._input, private))
