"""The cancel signal: one way to tell a run, from any thread, that its answer is no longer wanted."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType

import anyio

from agentflow.errors import RunCancelled
from agentflow.run.loop import current_loop

__all__ = ["CancelSignal", "scope_of"]


class CancelSignal:
    """A flag that is set once, for good, with a reason; safe from any thread.

    Signals form a tree: a derived signal is cancelled with its parent, never the other way round.
    """

    __slots__ = (
        "__weakref__",
        "_calls",
        "_children",
        "_deadline",
        "_lock",
        "_parents",
        "fired",
        "reason",
    )

    def __init__(self) -> None:
        self.fired = False
        """Whether somebody cancelled; a deadline that has passed shows in `cancelled` only. For the hot loop."""
        self.reason: object = None
        self._deadline = math.inf
        # Reentrant, because a handler of a process signal may cancel while its own thread is inside.
        self._lock = threading.RLock()
        # Children are held weakly: a signal that lives as long as the process must not keep each run's own alive.
        self._children: weakref.WeakSet[CancelSignal] | None = None
        self._parents: tuple[CancelSignal, ...] = ()
        self._calls: list[Callable[[], object]] = []

    def cancel(self, reason: object = None) -> None:
        """Cancel whatever listens to this signal; the first reason stays, later calls do nothing."""
        with self._lock:
            if self.fired:
                return
            self.reason = reason
            self.fired = True
            children, calls = list(self._children or ()), list(self._calls)
        for child in children:
            child.cancel(reason)
        for call in calls:
            call()

    @property
    def cancelled(self) -> bool:
        """Whether the signal was cancelled, or its time has passed."""
        if not self.fired and time.monotonic() >= self._deadline:
            # First those above whose time it is: a run must not take the end of all of it for that of a branch alone.
            for parent in self._parents:
                _ = parent.cancelled
            self.cancel("its time has passed")
        return self.fired

    @property
    def deadline(self) -> float:
        """When the signal cancels itself, on the clock of `time.monotonic()`; infinity for never."""
        return self._deadline

    def raise_if_cancelled(self) -> None:
        """Raise `RunCancelled` if the signal was cancelled."""
        if self.cancelled:
            raise RunCancelled(self.reason)

    async def wait(self) -> None:
        """Wait until the signal is cancelled."""
        loop = current_loop()
        latch = loop.latch()

        def wake() -> None:
            loop.post(latch.open)

        self.subscribe(wake)
        try:
            # Reading `cancelled` turns a deadline that has passed into a cancel, for everybody.
            while not self.cancelled:
                left = self._deadline - time.monotonic()
                with anyio.move_on_after(None if left == math.inf else max(0.0, left)):
                    await latch.wait()
        finally:
            self.unsubscribe(wake)

    def derive(self) -> CancelSignal:
        """A signal that is cancelled with this one, and can be cancelled alone."""
        return CancelSignal.any(self)

    @classmethod
    def any(cls, *signals: CancelSignal) -> CancelSignal:
        """A signal that is cancelled as soon as one of `signals` is."""
        made = cls()
        made._parents = signals
        made._deadline = min((signal._deadline for signal in signals), default=math.inf)
        for signal in signals:
            with signal._lock:
                if signal._children is None:
                    signal._children = weakref.WeakSet()
                signal._children.add(made)
                fired = signal.fired
            if fired:
                made.cancel(signal.reason)
        return made

    @classmethod
    def after(cls, seconds: float) -> CancelSignal:
        """A signal that cancels itself `seconds` from now."""
        made = cls()
        made._deadline = time.monotonic() + seconds
        return made

    def subscribe(self, call: Callable[[], object]) -> None:
        """Have `call` called when the signal is cancelled, in the canceller's thread; at once if it already is."""
        with self._lock:
            # First added, then asked: a handler of a process signal may cancel between any two steps.
            self._calls.append(call)
            fired = self.fired
        if fired:
            call()

    def unsubscribe(self, call: Callable[[], object]) -> None:
        """Take back a subscription; nothing happens if there is none."""
        with self._lock:
            if call in self._calls:
                self._calls.remove(call)

    def __repr__(self) -> str:
        state = f"cancelled: {self.reason!r}" if self.fired else "not cancelled"
        return f"<CancelSignal {state}>"


class scope_of:  # noqa: N801 - used like a function, as `anyio.move_on_after` is
    """Interrupt what the block awaits when the signal is cancelled, and go on after the block."""

    __slots__ = ("_loop", "_scope", "_signal")

    def __init__(self, signal: CancelSignal) -> None:
        self._signal = signal
        self._loop = current_loop()
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._signal.subscribe(self._wake)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._signal.unsubscribe(self._wake)
        return bool(self._scope.__exit__(kind, error, trace))

    def _wake(self) -> None:
        self._loop.post(self._scope.cancel)
