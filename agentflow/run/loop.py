"""The few things the kernel needs of an event loop that anyio does not offer.

A run lives in a task of its own, so that it can end although a body ignores its cancel: structured concurrency
cannot leave a task behind, and a run has to. Everything else in this package is written with anyio alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Final, Protocol

import anyio
import anyio.lowlevel

__all__ = [
    "SLICE",
    "Latch",
    "Loop",
    "current_loop",
    "current_task",
    "give_way",
    "in_loop",
    "wait_out",
]

SLICE: Final = 0.005
"""Seconds that work which never waits keeps the loop to itself, so that a cancel gets through within 10 ms."""

Body = Callable[[], Coroutine[Any, Any, None]]


class Latch(Protocol):
    """Opens once; whoever waits goes on, at once if it is open."""

    opened: bool

    def open(self) -> None:
        """Let everybody pass. Only from the loop's thread; opening twice is nothing."""

    def wait(self) -> Awaitable[None]:
        """Wait until it is open."""


class Loop(Protocol):
    """One running event loop; two of these that stand for the same one are equal."""

    def spawn(self, body: Body, context: Context) -> None:
        """Run `body`, which must not raise, in a task that nobody owns, and in `context`: not in a copy of it."""

    def scope(self) -> anyio.CancelScope:
        """A cancel scope for the calling task, which this loop runs."""

    def latch(self) -> Latch:
        """A closed latch."""

    def post(self, call: Callable[[], object]) -> None:
        """Have `call` called soon in the loop's thread; from any thread. Nothing happens when the loop is gone."""


def current_loop() -> Loop:
    """The loop that runs the calling code.

    Raises:
        RuntimeError: No asyncio or trio loop is running here.
    """
    # Asked of trio first, because in its guest mode both are running; and only if somebody has loaded it.
    trio: Any = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return _TrioLoop(trio)
    return _AsyncioLoop(asyncio.get_running_loop())


def current_task() -> object:
    """The task that runs the calling code: the same object as long as it runs it, and no other's."""
    trio: Any = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return trio.lowlevel.current_task()
    return asyncio.current_task()


def in_loop() -> bool:
    """Whether an asyncio or trio loop runs the calling code."""
    try:
        current_loop()
    except RuntimeError:
        return False
    return True


async def wait_out(latch: Latch) -> None:
    """Wait until a latch is open, whatever is cancelled meanwhile: that is raised by what is awaited next.

    As waiting in a shielded scope, but the scope is made only when there is something to shield from.
    """
    if latch.opened:
        return
    try:
        await latch.wait()
    except anyio.get_cancelled_exc_class() as cut:
        with anyio.CancelScope(shield=True):
            await latch.wait()
        # The cancel of a scope comes again by itself. That of a task comes once, so it is given back.
        if anyio.current_effective_deadline() != -math.inf:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            task.cancel(*cut.args)
    else:
        _thread.turned = time.monotonic()


class _Thread(threading.local):
    turned = 0.0
    """When its loop last let a task go on from `wait_out`: not after it last let the task go on that runs now."""


_thread = _Thread()


async def give_way() -> float:
    """Let the loop do other things, unless it has just done so; gives when to ask again, by `time.monotonic`.

    Whoever waits for a store at every step shares the loop already: a further turn would cost it as much as the step.
    """
    until = _thread.turned + SLICE
    if time.monotonic() < until:
        return until
    await anyio.lowlevel.checkpoint()
    return time.monotonic() + SLICE


_alive: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to the tasks that wait for something."""


async def _run(body: Body) -> None:
    # A callback at the task's end would do for this too, and cost every run one more call through the loop.
    task: Any = asyncio.current_task()
    _alive.add(task)
    try:
        await body()
    finally:
        _alive.discard(task)


@functools.cache
def _asyncio_scope() -> type[anyio.CancelScope]:
    # `anyio.CancelScope` finds out each time which loop is running, which takes most of what a scope costs.
    return type(anyio.CancelScope())


class _AsyncioLoop:
    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsyncioLoop) and other._loop is self._loop

    def __hash__(self) -> int:
        return hash(self._loop)

    def spawn(self, body: Body, context: Context) -> None:
        self._loop.create_task(_run(body), context=context)

    def scope(self) -> anyio.CancelScope:
        return _asyncio_scope()()

    def latch(self) -> Latch:
        return _AsyncioLatch(self._loop)

    def post(self, call: Callable[[], object]) -> None:
        # The loop is gone, and everything that could have been told with it; asking first would be a race.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)


class _Open:
    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield


_OPEN: Final = _Open()
"""What there is to wait for at a latch that is open."""


class _AsyncioLatch:
    __slots__ = ("_loop", "_waiting", "opened")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: tuple[asyncio.Future[None], ...] = ()
        self.opened = False

    def open(self) -> None:
        self.opened = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting = ()

    def wait(self) -> Awaitable[None]:
        if self.opened:
            return _OPEN
        # The future itself, and no coroutine around it: every write of a durable run waits here.
        future = self._loop.create_future()
        self._waiting += (future,)
        return future


class _TrioLoop:
    __slots__ = ("_token", "_trio")

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TrioLoop) and other._token is self._token

    def __hash__(self) -> int:
        return hash(self._token)

    def spawn(self, body: Body, context: Context) -> None:
        self._trio.lowlevel.spawn_system_task(body, context=context)

    def scope(self) -> anyio.CancelScope:
        return anyio.CancelScope()

    def latch(self) -> Latch:
        return _TrioLatch(self._trio.Event())

    def post(self, call: Callable[[], object]) -> None:
        try:
            self._token.run_sync_soon(call)
        except self._trio.RunFinishedError:
            # The loop is gone, and everything that could have been told with it.
            return


class _TrioLatch:
    __slots__ = ("_event", "opened")

    def __init__(self, event: Any) -> None:
        self._event = event
        self.opened = False

    def open(self) -> None:
        self.opened = True
        self._event.set()

    def wait(self) -> Awaitable[None]:
        return _OPEN if self.opened else self._event.wait()
