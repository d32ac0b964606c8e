"""The one who writes to a store: batches share a transaction and so a commit, failures hit nobody else, and the lease is kept alive."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from agentflow.errors import StoreError
from agentflow.stores.driver import Driver, Time
from agentflow.stores.holdings import Holdings
from agentflow.stores.journals import Appending, Claimed, Journals
from agentflow.stores.session import Backend, Busy, Session, given_up_on_error
from agentflow.stores.worker import Job

__all__ = ["CLOSE", "OPEN", "SETTLE", "Writer"]

OPEN: Final = "open"
"""The work of making ready."""

CLOSE: Final = "close"
"""The work of giving everything back."""

SETTLE: Final = "settle"
"""The work of giving back what could not be given back before."""


class Writer:
    """Writes to one database as one driver. Its methods are called from one thread at a time; `turn` sees to that.

    Args:
        backend: The database.
        driver: As whom.
        journals: What is written.
        lease: How many seconds others believe that this driver is alive after it last said so.
        time: When to say so again.
    """

    def __init__(
        self, backend: Backend, driver: Driver, journals: Journals, *, lease: float, time: Time
    ) -> None:
        self.turn = threading.Lock()
        self._backend = backend
        self._driver = driver
        self._journals = journals
        self._lease = lease
        self._time = time
        self._session: Session | None = None
        self._open = False
        self._renew_at = 0.0
        self._holdings = Holdings()

    def perform(self, jobs: Sequence[Job]) -> None:
        """Do a batch; each job gets its answer or its error."""
        with self.turn:
            for job in jobs:
                if job.work is OPEN:
                    self._make_ready(job)
            if any(job.work is SETTLE for job in jobs):
                self._renew()
            if writing := [job for job in jobs if job.work not in (OPEN, CLOSE, SETTLE)]:
                self._write(writing)
            for job in jobs:
                if job.work is CLOSE:
                    self._give_everything_back(job)

    def perform_now(self, work: Any) -> Job | None:
        """Do one piece of work in the caller's thread; `None` when that would have to wait for somebody."""
        if not self.turn.acquire(blocking=False):
            return None
        try:
            if self._session is None:
                return None
            job = Job(work)
            self._write([job], patient=False)
        except Busy:
            return None
        finally:
            self.turn.release()
        return job

    @property
    def owes(self) -> bool:
        """Whether there are runs that were not given back when they should have been."""
        return self._holdings.owes

    @property
    def untidy(self) -> bool:
        """Whether the database wants to be tidied up when there is time."""
        return self._backend.untidy

    def tick(self) -> float | None:
        """Keep the lease alive, and tidy up; gives the seconds until it wants to be called again."""
        if self._backend.untidy:
            self._backend.tidy(self.turn)
        with self.turn:
            if not self._open:
                return None
            pause = self._renew_at - self._time.monotonic()
            if pause > 0 and not self._is_lost:
                return pause
            self._renew()
            return self._lease / 4

    def _renew(self) -> None:
        """Say that this driver is alive, and give back what it owes."""
        # If it fails, there is another chance before the lease runs out; whoever writes meanwhile is told what is wrong.
        self._renew_at = self._time.monotonic() + self._lease / 4
        self._write([])
        if self._session is None:
            # The connection was lost while nobody wrote: the next who writes need not be the one to find out.
            self._write([])

    def _write(self, jobs: Sequence[Job], *, patient: bool = True) -> None:
        """Do a batch in one transaction; when that fails, each job in one of its own, so that it fails only who it must."""
        try:
            session = self._connected()
            if self._alone(session, jobs, patient=patient):
                return
            session.begin(patient=patient)
        except Busy:
            raise
        except Exception as error:
            self._fail(jobs, error)
            return
        try:
            answers = self._together(session, [job.work for job in jobs])
            session.commit()
        except Exception as error:
            session.rollback()
            if len(jobs) > 1 and not self._backend.broken(error):
                for job in jobs:
                    self._write([job])
            else:
                self._fail(jobs, error)
            return
        self._holdings.settled()
        for job, answer in zip(jobs, answers, strict=True):
            self._holdings.done(job.work, answer)
            if isinstance(answer, Exception):
                job.error = answer
            else:
                job.answer = answer

    def _alone(self, session: Session, jobs: Sequence[Job], *, patient: bool) -> bool:
        if len(jobs) != 1 or self._holdings.owes:
            return False
        return self._journals.append_one(session, jobs[0].work, patient=patient)

    def _together(self, session: Session, works: Sequence[Any]) -> list[Any]:
        self._holdings.give_back(session, self._journals)
        if not works:
            self._journals.renew(session, self._lease)
        return self._journals.write(session, works)

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        if self._backend.broken(error):
            self._backend.generation += 1
            self._hang_up()
        for job in jobs:
            job.error = self._failure("written", error)
            self._holdings.failed(job.work)

    def _failure(self, doing: str, error: Exception) -> StoreError:
        return error if isinstance(error, StoreError) else self._backend.failure(doing, error)

    # The connection.

    @property
    def _is_lost(self) -> bool:
        session = self._session
        return session is not None and session.generation != self._backend.generation

    def _connected(self) -> Session:
        if self._session is not None:
            if not self._is_lost:
                return self._session
            self._hang_up()
        session = self._backend.connect()
        with given_up_on_error(session):
            session.begin()
            self._backend.hold(session, self._driver)
            self._journals.renew(session, self._lease)
            self._journals.sweep(session)
            session.commit()
        self._renew_at = self._time.monotonic() + self._lease / 4
        self._session = session
        return session

    def _hang_up(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _make_ready(self, job: Job) -> None:
        try:
            self._connected()
        except Exception as error:
            job.error = self._failure("opened", error)
            if not self._open:
                self._backend.let_go()
            return
        self._open = True

    def _give_everything_back(self, job: Job) -> None:
        """Nothing here can fail for the caller: a driver that is gone leaves its runs to everybody, written down or not."""
        if self._open:
            try:
                session = self._connected()
                session.begin()
                self._journals.retire(session)
                session.commit()
            except Exception as error:
                job.answer = self._failure("closed", error)
        self._open = False
        self._holdings.clear()
        self._hang_up()
        self._backend.let_go()


def undoing(job: Job) -> Any:
    """The work that undoes what a caller has left behind: a claim that nobody will use is given back."""
    if not isinstance(job.answer, Claimed):
        return None
    claim = job.answer.claim
    return Appending(claim.run_id, claim.epoch, (), job.answer.before, job.answer.due)
