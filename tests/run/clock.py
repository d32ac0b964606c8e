"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio


class HandClock:
    """Time for engines under test: nothing passes by itself, and who sleeps wakes when it is moved far enough."""

    def __init__(self, time: float = 0.0) -> None:
        self.time = time
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.time % 10**6)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        sleeper = (self.time + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    @property
    def sleeping(self) -> list[float]:
        """How long each sleeper still has to wait, shortest first."""
        return sorted(until - self.time for until, _ in self._sleepers)

    def move(self, seconds: float) -> None:
        """Let time pass, and wake those whose time has come."""
        self.time += seconds
        for until, woken in self._sleepers:
            if until <= self.time:
                woken.set()
