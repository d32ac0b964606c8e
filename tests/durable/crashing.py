"""A store whose process dies at a chosen write, before or after it, as often as the test likes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentflow.errors import StoreError
from agentflow.run.entries import Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.stores.memory import MemoryStore

__all__ = ["Crashed", "CrashingStore"]


class Crashed(StoreError):
    """The process is gone."""


class CrashingStore:
    """The memory store as one process sees it, which dies at its write number `at`.

    Args:
        inner: What survives.
        at: The write, from 1, at which the process dies; 0 for never.
        before: Whether it dies before the write has happened, and not right after.
    """

    def __init__(self, inner: MemoryStore, at: int, *, before: bool) -> None:
        self.inner = inner
        self.at = at
        self.before = before
        self.writes = 0
        self.dead = False

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        # A dead process says goodbye to nobody; its lock is gone all the same.
        await self.inner.close()

    async def claim(
        self, run_id: str, *, new: NewRun | None = None, suspended: bool = False
    ) -> Claim | RunInfo | None:
        self._alive()
        return await self.inner.claim(run_id, new=new, suspended=suspended)

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        self._alive()
        self.writes += 1
        if self.writes == self.at and self.before:
            self._die()
        await self.inner.append(claim, entries, status=status, due=due)
        if self.writes == self.at:
            self._die()

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        self._alive()
        return await self.inner.read(run_id, after=after)

    async def find(self, **options: Any) -> list[RunInfo]:
        self._alive()
        return await self.inner.find(**options)

    async def prune(self, **options: Any) -> int:
        self._alive()
        return await self.inner.prune(**options)

    def _alive(self) -> None:
        if self.dead:
            raise Crashed("the process is dead")

    def _die(self) -> None:
        self.dead = True
        raise Crashed(f"the process died at write {self.writes}")
