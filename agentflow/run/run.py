"""A run: one execution of a workflow, with its own state, ledger and signal, in a task of its own."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextvars import Context, copy_context
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar

import anyio
import anyio.lowlevel

from agentflow.errors import BudgetExceeded, RunCancelled
from agentflow.graph.frozen import State, freeze
from agentflow.run.decide import Bail, checked_result, told, unwrapped
from agentflow.run.detached import Detached
from agentflow.run.effects import emit
from agentflow.run.facts import FactReader, Facts, limit_data
from agentflow.run.frame import Frame
from agentflow.run.ledger import Ledger
from agentflow.run.loop import Latch, Loop, current_loop
from agentflow.run.signal import CancelSignal

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.graph.plan import Plan
    from agentflow.run.engine import Engine
    from agentflow.run.ports import Clock, ModelSource, Observer, Sink

__all__ = ["Run", "Status"]

R = TypeVar("R")
Status = Literal["running", "completed", "failed", "cancelled"]

_SLICE: Final = 0.005
"""Seconds that a run which never waits keeps the loop to itself, so that a cancel gets through within 10 ms."""

_BACKLOG: Final = 10_000
"""How many facts a started run keeps until somebody reads them."""


class Run(Generic[R]):
    """One execution of a workflow; made by `Engine.start`, which is used as `async with engine.start(…) as run`.

    Attributes:
        id: The run id.
        status: `running`, then one of the three ends `completed`, `failed` and `cancelled`.
        ledger: What was spent and what is left.
        context: The caller's own map.
        identity: Who the run is for, as the host gave it.
        deps: The live objects given to the run.
        models: The engine's models as they were when the run was made.
    """

    def __init__(
        self,
        engine: Engine[R],
        plan: Plan,
        input: Mapping[str, Any] | None,
        *,
        run_id: str | None,
        signal: CancelSignal | None,
        budget: Budget | None,
        context: dict[str, Any] | None,
        identity: Any,
        deps: Any,
        observers: Iterable[Observer],
        sink: Sink | None,
        read: bool,
    ) -> None:
        self.engine = engine
        self.models: ModelSource = engine.models
        self.id = new_run_id() if run_id is None else run_id
        self.status: Status = "running"
        self.context: dict[str, Any] = {} if context is None else context
        self.identity = identity
        self.deps = deps
        self.sink = sink
        self.clock: Clock = engine.clock
        self.monotonic = engine.monotonic
        self.ledger = Ledger(budget)
        self.signal = CancelSignal() if signal is None else signal.derive()
        self.pause_at = 0.0
        self.thread: int | None = None
        self.bus: Facts | None = None
        self.loop: Loop
        self._input = input
        self._observers = tuple(observers)
        self._read = read
        self._frame = Frame(self, plan, id=self.id, signal=self.signal)
        self._began = 0.0
        self._variables: Context
        self._task: Detached | None = None
        self._watcher: Detached | None = None
        self._overtime: BudgetExceeded | None = None
        self._interrupted = False
        self._settling = False
        self._settled: Latch | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    # The caller's side.

    @property
    def state(self) -> State:
        """The state as it is now; later commits do not show in it."""
        snapshot = type(self._frame.state)()
        dict.update(
            snapshot, {name: freeze(value) for name, value in dict.items(self._frame.state)}
        )
        return snapshot

    def cancel(self, reason: object = None) -> None:
        """Cancel the run; from any thread, and as often as you like."""
        self.signal.cancel(reason)

    def facts(self) -> FactReader:
        """The facts of the run, while it goes on, to its end; the first reader gets them from the beginning.

        Breaking out of the iteration only stops the reading.
        """
        if self._settled is None:
            raise RuntimeError("the run has not begun: use 'async with engine.start(…) as run'")
        if self.bus is None:
            raise RuntimeError("nobody reads this run: start it with 'async with engine.start(…)'")
        return self.bus.read()

    async def result(self) -> R:
        """Wait for the end and return the workflow's result.

        Cancelling this wait ends the wait, not the run.

        Raises:
            RunCancelled: The run was cancelled.
            BudgetExceeded: It reached a hard limit.
            ContractError: The input, an update, a route or the result broke the definition's word.
            Exception: What a node raised, as it was raised.
        """
        if self._settled is None:
            raise RuntimeError("the run has not begun: use 'async with engine.start(…) as run'")
        await self._settled.wait()
        return self.outcome()

    def outcome(self) -> R:
        """The result of a run that has ended; raises as `result` does."""
        if self._error is not None:
            raise self._error
        value: R = self._value
        return value

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop("its caller left")

    async def stop(self, reason: object) -> None:
        """Cancel the run unless it has ended, and wait until it has; not itself interrupted by a cancel."""
        assert self._settled is not None
        if not self._settled.opened:
            self.cancel(reason)
            with anyio.CancelScope(shield=True):
                await self._settled.wait()

    # The run's own side.

    def begin(self) -> None:
        """Start the run in the loop that runs the caller."""
        if self._settled is not None:
            raise RuntimeError(f"run {self.id} has begun already; start another one")
        self.loop = current_loop()
        self.engine.enrol(self)
        self.thread = threading.get_ident()
        self._settled = self.loop.latch()
        if self._observers or self._read:
            self.bus = Facts(self._observers, self.clock, self.loop)
            if self._read:
                self.bus.keep_backlog(_BACKLOG)
        self._began = self.monotonic()
        self.pause_at = time.monotonic() + _SLICE
        # One for all tasks of the run: what an observer sets with the first fact, it can reset with the last.
        self._variables = copy_context()
        self._task = Detached(self.loop, self._drive, context=self._variables)
        if self._settling:
            # An eager task of asyncio runs at once, and a short run with it to its end.
            return
        if self.signal.deadline != math.inf or self.ledger.allowed("seconds") is not None:
            self._watcher = Detached(self.loop, self._watch)
        # After the task is there: a signal that is cancelled already calls back at once.
        self.signal.subscribe(self._wake)

    async def pause(self) -> None:
        """Let the loop do other things, and see to limits of time. Called by the frame when its slice is over."""
        if self.signal.cancelled:
            raise RunCancelled(self.signal.reason)
        allowed = self.ledger.allowed("seconds")
        if allowed is not None and self.monotonic() - self._began > allowed:
            self._run_over(allowed)
            raise RunCancelled(self.signal.reason)
        await anyio.lowlevel.checkpoint()
        # Not the engine's clock: the slice is owed to the loop's other tasks, and a clock of a test may stand still.
        self.pause_at = time.monotonic() + _SLICE

    async def _drive(self) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = await self._frame.execute(self._input)
        except BaseException as raised:
            error = raised
        # What comes after the run was ended without its body does not count.
        if not self._settling:
            self._value, self._error = value, error
        if not self._interrupted:
            await self._settle()

    async def _watch(self) -> None:
        """Keep the limits of time, for runs that have any: the signal's deadline and `Budget.seconds`."""
        seconds = self.ledger.allowed("seconds")
        async with anyio.create_task_group() as both:
            if self.signal.deadline != math.inf:
                # Waiting for it turns its deadline into a cancel, which interrupts the run as any other does.
                both.start_soon(self.signal.wait)
            if seconds is not None:
                both.start_soon(self._watch_seconds, seconds)

    async def _watch_seconds(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self._run_over(seconds)

    def _run_over(self, allowed: float) -> None:
        """Stop the run because its seconds are spent: as a cancel does, for everything below it."""
        used = max(allowed, self.monotonic() - self._began)
        self._overtime = BudgetExceeded("seconds", allowed, used, where=f"run {self.id}")
        self.signal.cancel(self._overtime)

    def _wake(self) -> None:
        self.loop.post(self._interrupt)

    def _interrupt(self) -> None:
        """Cut a cancelled run short, in the loop's thread."""
        if not self._settling and not self._interrupted:
            self._interrupted = True
            self.loop.spawn(self._reap, self._variables)

    async def _reap(self) -> None:
        """End an interrupted run: with its body if that ends soon, without it if it does not."""
        assert self._task is not None
        visiting = self._frame.visiting
        if not await self._task.leave() and visiting is not None:
            emit(visiting, "thread.abandoned")
        await self._settle()

    async def _settle(self) -> None:
        """Fix the outcome, tell it, and let everybody who waits go on. The first time counts."""
        if self._settling:
            return
        assert self._settled is not None
        self._settling = True
        try:
            self._judge()
            if self._watcher is not None:
                await self._watcher.leave()
            if self.bus is not None:
                await self._tell_end(self.bus)
        finally:
            # Whatever happens to this task, whoever waits for the run must go on.
            self.engine.dismiss(self)
            self._settled.open()

    def _judge(self) -> None:
        """Status, value and error, from how the frame ended."""
        self.ledger.spend_time(self.monotonic() - self._began)
        error = None if self._error is None else unwrapped(self._error)
        if self._overtime is not None and self.signal.reason is self._overtime:
            error = self._overtime
        elif self.signal.fired and not isinstance(error, RunCancelled):
            # Also when the body swallowed its cancel and came back with a value, or with an error of its own.
            cancelled = RunCancelled(self.signal.reason)
            cancelled.__cause__ = error if isinstance(error, Exception) else None
            error = cancelled
        if isinstance(error, Bail):
            try:
                self._value, error = checked_result(self._frame.plan, error.value), None
            except Exception as invalid:
                error = invalid
        elif error is not None and not isinstance(error, Exception) and _is_cancelled(error):
            # The loop itself is going down, or somebody cancelled a task that a node waited for.
            outside = RunCancelled("cancelled from outside of the run")
            outside.__cause__ = error
            error = outside
        self._error = error
        if error is None:
            self.status = "completed"
        else:
            self._value = None
            self.status = "cancelled" if isinstance(error, RunCancelled) else "failed"

    async def _tell_end(self, bus: Facts) -> None:
        error = self._error
        if error is not None and error is self._overtime:
            bus.emit("limit.reached", self._frame, data=limit_data(self._overtime))
        data: dict[str, Any] = {"used": self.ledger.as_dict()}
        if isinstance(error, RunCancelled):
            data["reason"] = None if error.reason is None else told(error.reason)
        elif error is not None:
            data |= {"error": type(error).__name__, "message": told(error)}
        bus.emit(f"run.{self.status}", self._frame, data=data, content=self._value)
        await bus.close()

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self._frame.plan.workflow.id!r}: {self.status}>"


def _is_cancelled(error: BaseException) -> bool:
    try:
        return isinstance(error, anyio.get_cancelled_exc_class())
    except Exception:
        # No loop is running any more.
        return False


def new_run_id() -> str:
    """A new id, a UUID of version 7 (RFC 9562): unique, and sorted by time."""
    stamp = time.time_ns() // 1_000_000
    noise = os.urandom(10).hex()
    text = f"{stamp:012x}"
    variant = "89ab"[int(noise[3], 16) & 3]
    return f"{text[:8]}-{text[8:]}-7{noise[:3]}-{variant}{noise[4:7]}-{noise[7:19]}"
