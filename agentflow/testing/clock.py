"""A clock that stands still until somebody moves it, or everybody waits for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio

__all__ = ["FixedClock"]


class FixedClock:
    """Time for tests: it moves by `advance`, and to the end of the next sleep when nothing else is left to do.

    So a retry's wait takes no time, and a timeout passes only if its body really waits. A worker thread does not count as
    something to do.

    Args:
        start: The time of day at the beginning.

    Attributes:
        slept: How long each sleeper wanted to sleep, in seconds, in order.
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._seconds = 0.0
        self._alarms: list[float] = []
        self._moved: anyio.Event | None = None
        self._watched = False
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The time of day."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved on by `seconds`."""
        self.slept.append(seconds)
        alarm = self._seconds + seconds
        self._alarms.append(alarm)
        try:
            while self._seconds < alarm:
                if self._watched:
                    await self._next_move()
                else:
                    await self._move_when_idle()
        finally:
            self._alarms.remove(alarm)

    def advance(self, seconds: float) -> None:
        """Move the clock on.

        Raises:
            ValueError: It would go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock does not go back: advance({seconds!r})")
        self._seconds += seconds
        self._wake()

    async def _next_move(self) -> None:
        if self._moved is None:
            self._moved = anyio.Event()
        await self._moved.wait()

    async def _move_when_idle(self) -> None:
        # One sleeper watches for all, because watchers would keep each other from seeing that all is idle.
        self._watched = True
        try:
            await anyio.wait_all_tasks_blocked()
            self._seconds = max(self._seconds, min(self._alarms))
        finally:
            self._watched = False
            self._wake()

    def _wake(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None
