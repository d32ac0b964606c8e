"""The limiter: how many calls of a model are under way at the same time, and how many begin in a minute."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import anyio
from anyio.lowlevel import RunVar

from agentflow.run.ports import Clock

__all__ = ["Limiter"]

_MINUTE: Final = 60.0


class Limiter:
    """Keeps calls waiting, in the order in which they came, for as long as the limits say.

    One limiter may belong to several models: what they do together is limited then. It holds for every run of one event
    loop, the branches of a run included; a call that waits for its next try holds no place.

    Args:
        concurrency: How many calls may be under way at the same time; `None` for any number.
        per_minute: How many may begin in any 60 seconds, tries included; `None` for any number.

    Raises:
        ValueError: A limit is no whole number of at least 1.
    """

    __slots__ = ("_queues", "concurrency", "per_minute")

    def __init__(self, *, concurrency: int | None = None, per_minute: int | None = None) -> None:
        for name, value in (("concurrency", concurrency), ("per_minute", per_minute)):
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(
                    f"Limiter({name}={value!r}): it is a whole number of at least 1, or None"
                )
        self.concurrency = concurrency
        self.per_minute = per_minute
        # What waits, waits in a loop: each loop has a queue of its own.
        self._queues: RunVar[_Queue] = RunVar(f"agentflow limiter {id(self)}")

    @asynccontextmanager
    async def place(self, clock: Clock) -> AsyncIterator[None]:
        """A place for one try, waited for and held until the block ends."""
        queue = self._queue()
        async with AsyncExitStack() as stack:
            if queue.places is not None:
                await stack.enter_async_context(queue.places)
            if self.per_minute is not None:
                await queue.begin(self.per_minute, clock)
            yield

    def _queue(self) -> _Queue:
        try:
            return self._queues.get()
        except LookupError:
            queue = _Queue(self.concurrency)
            self._queues.set(queue)
            return queue

    def __repr__(self) -> str:
        return f"Limiter(concurrency={self.concurrency}, per_minute={self.per_minute})"


class _Queue:
    """Those who wait in one loop."""

    __slots__ = ("_begun", "_turn", "places")

    def __init__(self, concurrency: int | None) -> None:
        self.places = None if concurrency is None else anyio.Semaphore(concurrency)
        self._begun: deque[float] = deque()
        self._turn = anyio.Lock()

    async def begin(self, per_minute: int, clock: Clock) -> None:
        """Wait until one more may begin."""
        async with self._turn:
            while True:
                now = clock.monotonic()
                while self._begun and self._begun[0] <= now - _MINUTE:
                    self._begun.popleft()
                if len(self._begun) < per_minute:
                    self._begun.append(now)
                    return
                await clock.sleep(self._begun[0] + _MINUTE - now)
