"""A clock that stands still until somebody moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio.lowlevel

__all__ = ["FixedClock"]


class FixedClock:
    """Time for tests: it moves only by `advance` and by whoever sleeps, and then at once.

    Args:
        start: The time of day at the beginning.
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The time of day."""
        return self._start + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        """Move the clock on by `seconds`, note it in `slept`, and let others run."""
        self.slept.append(seconds)
        self.advance(seconds)
        await anyio.lowlevel.checkpoint()

    def advance(self, seconds: float) -> None:
        """Move the clock on.

        Raises:
            ValueError: It would go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock does not go back: advance({seconds!r})")
        self._seconds += seconds
