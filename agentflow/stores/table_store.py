"""A store that keeps journals in tables: one thread writes for all runs, others read, and nobody's loop waits for a database."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import anyio

from agentflow.errors import StoreError
from agentflow.run.entries import ENDED, Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.stores.driver import Driver, ThreadTime, Time
from agentflow.stores.journals import (
    Appending,
    Claimed,
    Claiming,
    Finding,
    Journals,
    Pruning,
    Reading,
)
from agentflow.stores.reader import Reader
from agentflow.stores.session import Backend
from agentflow.stores.worker import Worker
from agentflow.stores.writer import CLOSE, OPEN, SETTLE, Writer, undoing

__all__ = ["TableStore"]


_IDLE: Final = (0, 0)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Who works for a store while it is open."""

    process: int
    writer: Writer
    writes: Worker
    reads: Worker


class TableStore:
    """A `Store` on a database.

    Args:
        backend: The database.
        machine: The name of this machine, for drivers to see which of them share it.
        lease: How many seconds after it last said so it counts as alive for those who cannot see it.
        time: What stamps records, and judges leases where the database does not.
        server_time: Whether the database judges leases by its own clock.
        readers: How many threads read.
        inline: Whether a lone append is written in the caller's thread, when nobody else writes.
    """

    def __init__(
        self,
        backend: Backend,
        machine: str,
        *,
        lease: float,
        time: Time | None,
        server_time: bool,
        readers: int = 1,
        inline: bool = False,
    ) -> None:
        self._backend = backend
        self._machine = machine
        self._lease = lease
        self._time = ThreadTime() if time is None else time
        self._server_time = server_time
        self._readers = readers
        self._inline = inline
        self._state = threading.Lock()
        self._desk: _Desk | None = None

    async def open(self) -> None:
        """Make it ready, tables included; opening twice is nothing.

        Raises:
            StoreError: It cannot be reached, or was written by a newer version.
        """
        with self._state:
            first = self._desk is None
            if self._desk is None:
                self._desk = self._start()
            desk = self._desk
        try:
            await desk.writes.do(OPEN)
        except BaseException:
            if first:
                await self.close()
            raise

    async def close(self) -> None:
        """Give back everything that it holds; what is still claimed becomes `interrupted`."""
        with self._state:
            desk, self._desk = self._desk, None
        if desk is None or desk.process != os.getpid():
            # The threads of the process that has opened it are not here.
            return
        with anyio.CancelScope(shield=True):
            await desk.writes.do(CLOSE)
            await desk.reads.do(CLOSE)
        desk.writes.stop()
        desk.reads.stop()

    async def claim(
        self, run_id: str, *, new: NewRun | None = None, suspended: bool = False
    ) -> Claim | RunInfo | None:
        """Take the right to write to a run, unless somebody alive has it; see `Store.claim`."""
        answer = await self._opened().writes.do(Claiming(run_id, new, suspended))
        return answer.claim if isinstance(answer, Claimed) else answer

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        """Write entries, all or none, and return when they cannot be lost any more, cancelled or not; see `Store.append`."""
        desk = self._opened()
        work = Appending(claim.run_id, claim.epoch, entries, status, due)
        if self._inline and desk.writes.load == _IDLE:
            job = desk.writer.perform_now(work)
            if job is not None:
                if desk.writer.untidy:
                    desk.writes.nudge()
                if job.error is not None:
                    raise job.error
                return
        await desk.writes.finish(work)

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        """The entries after number `after`; if that is `None`, those from the latest snapshot on, the snapshot included."""
        entries: list[Entry] = await self._look(Reading(run_id, after))
        return entries

    async def find(
        self,
        *,
        run_id: str | None = None,
        status: StoredStatus | None = None,
        due: datetime | None = None,
        limit: int = 1000,
    ) -> list[RunInfo]:
        """Runs by id, by status, or suspended ones that are due by a time; the oldest first."""
        desk = self._opened()
        if desk.writer.owes:
            # They are nobody's, and must not look as if this driver drove them: whoever recovers would pass them by.
            await desk.writes.do(SETTLE)
        found: list[RunInfo] = await self._look(Finding(run_id, status, due, limit))
        return found

    async def prune(
        self,
        *,
        run_id: str | None = None,
        older_than: datetime | None = None,
        statuses: Collection[StoredStatus] = ENDED,
    ) -> int:
        """Delete runs with everything that belongs to them; tells how many; see `Store.prune`."""
        count: int = await self._opened().writes.do(
            Pruning(run_id, older_than, frozenset(statuses))
        )
        return count

    async def _look(self, work: Reading | Finding) -> Any:
        desk = self._opened()
        try:
            return await desk.reads.do(work)
        except StoreError:
            # If that was a lost connection, whoever writes next need not find out once more.
            desk.writes.nudge()
            raise

    def _start(self) -> _Desk:
        backend = self._backend
        # Made here and not with the store: a process that has the store of its parent is another driver.
        driver = Driver.here(self._machine)
        journals = Journals(backend, driver, self._time, server_time=self._server_time)
        writer = Writer(backend, driver, journals, lease=self._lease, time=self._time)
        reader = Reader(backend, journals)
        name = backend.name
        return _Desk(
            os.getpid(),
            writer,
            Worker(f"{name}: writer", writer.perform, undo=undoing, tick=writer.tick),
            Worker(f"{name}: reader", reader.perform, threads=self._readers, batch=1),
        )

    def _opened(self) -> _Desk:
        desk = self._desk
        if desk is None:
            raise StoreError(f"{self._backend.name} is not open: await its open() first")
        if desk.process != os.getpid():
            raise StoreError(
                f"{self._backend.name} was opened in another process: open it after the fork, not before"
            )
        return desk

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._backend.name}>"
