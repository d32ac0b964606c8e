"""A thread that works for a store: jobs wait in a bounded queue, are done in batches, and their answers go back to their loops.

Drivers of databases are plain code that blocks. Here it blocks a thread that the store owns, on asyncio and trio alike.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from agentflow.errors import StoreError
from agentflow.run.loop import Latch, Loop, current_loop, wait_out

__all__ = ["Job", "Worker"]

_ROOM: Final = 1024
"""How many jobs may wait; further callers wait until there is room."""

_BATCH: Final = 256
"""How many jobs are done together at most."""


class Job:
    """One piece of work, the answer or error that comes of it, and who waits for that."""

    __slots__ = ("answer", "done", "error", "latch", "loop", "withdrawn", "work")

    def __init__(self, work: Any, loop: Loop | None = None) -> None:
        self.work = work
        self.loop = loop
        self.latch = None if loop is None else loop.latch()
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = False
        self.withdrawn = False


class Worker:
    """A thread of its own, or a few.

    Args:
        name: What the threads are called.
        perform: Does a batch: gives each job its answer or its error. If it raises, that is the error of all.
        undo: The work that undoes a job whose caller has left, from the job; `None` for nothing.
        tick: What is to be done now and then; gives the seconds until it wants to be called again.
        threads: How many; each takes batches of its own.
        batch: How many jobs a batch has at most.
        room: How many jobs may wait.
    """

    def __init__(
        self,
        name: str,
        perform: Callable[[Sequence[Job]], None],
        *,
        undo: Callable[[Job], Any] | None = None,
        tick: Callable[[], float | None] = lambda: None,
        threads: int = 1,
        batch: int = _BATCH,
        room: int = _ROOM,
    ) -> None:
        self._perform = perform
        self._undo = undo
        self._tick = tick
        self._batch = batch
        self._room = room
        self._state = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._outside: deque[tuple[Loop, Latch]] = deque()
        self._stopped = False
        self._nudged = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{at}", daemon=True)
            for at in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def do(self, work: Any) -> Any:
        """Have something done, and return the answer. A caller that leaves takes back what was not begun, and has the rest undone.

        Raises:
            StoreError: What went wrong; or the worker has stopped.
        """
        loop = current_loop()
        job = Job(work, loop)
        assert job.latch is not None
        while (room := self._put(job, loop)) is not None:
            try:
                await room.wait()
            except BaseException:
                self._pass_on(loop, room)
                raise
        try:
            await job.latch.wait()
        except BaseException:
            self._withdraw(job)
            raise
        if job.error is not None:
            raise job.error
        return job.answer

    async def finish(self, work: Any) -> Any:
        """Have something done as `do` does, but see it to its end: a cancel of the caller is raised by what it awaits next."""
        loop = current_loop()
        job = Job(work, loop)
        assert job.latch is not None
        while (room := self._put(job, loop)) is not None:
            await wait_out(room)
        await wait_out(job.latch)
        if job.error is not None:
            raise job.error
        return job.answer

    @property
    def load(self) -> tuple[int, int]:
        """How many jobs wait to be begun, and how many callers wait for room."""
        return len(self._jobs), len(self._outside)

    def nudge(self) -> None:
        """Have the tick called soon."""
        with self._state:
            self._nudged = True
            self._state.notify()

    def stop(self) -> None:
        """Take no more jobs, and end when those that wait are done."""
        with self._state:
            self._stopped = True
            self._state.notify_all()
            self._let_in(len(self._outside))

    def join(self) -> None:
        """Wait for the threads to end."""
        for thread in self._threads:
            thread.join()

    def _put(self, job: Job, loop: Loop) -> Latch | None:
        with self._state:
            if self._stopped:
                raise StoreError("the store was closed")
            if len(self._jobs) < self._room:
                self._jobs.append(job)
                self._state.notify()
                return None
            latch = loop.latch()
            self._outside.append((loop, latch))
            return latch

    def _pass_on(self, loop: Loop, room: Latch) -> None:
        """Somebody who waited for room has left: what was kept for them is for the next."""
        with self._state:
            if (loop, room) in self._outside:
                self._outside.remove((loop, room))
            else:
                self._let_in(1)

    def _let_in(self, count: int) -> None:
        for _ in range(min(count, len(self._outside))):
            loop, latch = self._outside.popleft()
            loop.post(latch.open)

    def _withdraw(self, job: Job) -> None:
        with self._state:
            job.withdrawn = True
            if job.done:
                self._take_back([job])

    def _take_back(self, jobs: Sequence[Job]) -> None:
        """Put the undoing of jobs before everything else, so that who comes later finds it done."""
        if self._undo is None:
            return
        undoing = [Job(work) for job in jobs if (work := self._undo(job)) is not None]
        if undoing:
            self._jobs.extendleft(undoing)
            self._state.notify()

    def _work(self) -> None:
        pause = self._tick()
        while (batch := self._next(pause)) is not None:
            if batch:
                try:
                    self._perform(batch)
                except Exception as error:
                    # Not foreseen; but a thread that ends here would leave everybody waiting for ever.
                    for job in batch:
                        job.error = error
                self._hand_back(batch)
            pause = self._tick()

    def _next(self, pause: float | None) -> list[Job] | None:
        """The next batch; empty when it is time for the tick; `None` at the end."""
        with self._state:
            if not self._jobs and not self._stopped and not self._nudged:
                self._state.wait(pause)
            self._nudged = False
            batch: list[Job] = []
            while self._jobs and len(batch) < self._batch:
                job = self._jobs.popleft()
                if not job.withdrawn:
                    batch.append(job)
            self._let_in(self._room - len(self._jobs))
            return None if self._stopped and not batch and not self._jobs else batch

    def _hand_back(self, batch: Sequence[Job]) -> None:
        answers: dict[Loop, list[Job]] = {}
        with self._state:
            for job in batch:
                job.done = True
                if job.loop is not None:
                    answers.setdefault(job.loop, []).append(job)
            self._take_back([job for job in batch if job.withdrawn])
        for loop, jobs in answers.items():
            loop.post(partial(_open, jobs))


def _open(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.latch is not None:
            job.latch.open()
