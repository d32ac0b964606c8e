"""Stores that fail: one whose process dies at a chosen write, before or after it, and one that fails a single call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from agentflow import Engine, Workflow
from agentflow.errors import StoreError
from agentflow.run.entries import Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.run.ports import Clock
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore

__all__ = ["Crashed", "CrashingStore", "FailingStore", "process"]


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
        self._called("claim")
        return await self.inner.claim(run_id, new=new, suspended=suspended)

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        self._called("append")
        self.writes += 1
        if self.writes == self.at and self.before:
            self._die()
        await self.inner.append(claim, entries, status=status, due=due)
        if self.writes == self.at:
            self._die()

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        self._called("read")
        return await self.inner.read(run_id, after=after)

    async def find(self, **options: Any) -> list[RunInfo]:
        self._called("find")
        return await self.inner.find(**options)

    async def prune(self, **options: Any) -> int:
        self._called("prune")
        return await self.inner.prune(**options)

    def _called(self, call: str) -> None:
        """What comes before each call."""
        if self.dead:
            raise Crashed("the process is dead")

    def _die(self) -> None:
        self.dead = True
        raise Crashed(f"the process died at write {self.writes}")


class FailingStore(CrashingStore):
    """A store one call of which fails, and that works again afterwards.

    Args:
        inner: The store.
        call: Which method fails: `claim`, `append`, `read` or `find`.
        at: Which call of it, from 1.
        done: Whether an append has happened all the same, and only the word of it was lost.
    """

    def __init__(self, inner: MemoryStore, call: str, at: int, *, done: bool = False) -> None:
        super().__init__(inner, 0, before=True)
        self._call = call
        self._at = at
        self._done = done
        self.calls: Counter[str] = Counter()

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        if self._done:
            await self.inner.append(claim, entries, status=status, due=due)
        self._called("append")
        if not self._done:
            await self.inner.append(claim, entries, status=status, due=due)

    def _called(self, call: str) -> None:
        self.calls[call] += 1
        if call == self._call and self.calls[call] == self._at:
            raise StoreError(f"the line was cut at {call} {self._at}")


async def process(
    workflow: Workflow[Any],
    store: Any,
    input: Mapping[str, Any] | None = None,
    *,
    run_id: str = "r",
    clock: Clock | None = None,
    model: Any = None,
    tools: Iterable[Any] = (),
    **options: Any,
) -> Run[Any]:
    """What one process does of a run, until the run or the process has ended."""
    async with (
        Engine(workflow, store=store, clock=clock, model=model, tools=tools) as engine,
        engine.start(input, run_id=run_id, **options) as run,
    ):
        await run.settled()
    return run
