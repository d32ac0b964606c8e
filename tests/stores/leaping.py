"""A time in which others seem dead: whoever reads it finds that their leases have run out."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentflow.stores.driver import ThreadTime

__all__ = ["Leaping"]


class Leaping(ThreadTime):
    """Leaps on by an hour each time it is read, so that only epochs keep drivers apart.

    Args:
        leaps: How often; after that it is everybody's time, in which others seem to live for hours.
    """

    def __init__(self, leaps: float = float("inf")) -> None:
        self.readings = 0
        self._leaps = leaps

    def now(self) -> datetime:
        self.readings += 1
        leapt = self.readings if self.readings <= self._leaps else 0
        return super().now() + timedelta(hours=leapt)
