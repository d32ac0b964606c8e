"""A run: one execution of a workflow, with its own state, ledger and signal, in a task of its own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Iterable, Mapping
from contextvars import Context, copy_context
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import anyio

from agentflow.errors import BudgetExceeded, RunCancelled, RunInterrupted, RunSuspended
from agentflow.graph.frozen import State, snapshot_of
from agentflow.run.attach import ATTACHED, attach
from agentflow.run.beginning import private_fields, whole_input
from agentflow.run.deadline import alarm
from agentflow.run.detached import Detached
from agentflow.run.effects import emit
from agentflow.run.ended import Ended
from agentflow.run.ending import Ending, cancelled, ending_of, record_end, tell_end, told_of
from agentflow.run.entries import StoredStatus
from agentflow.run.facts import FactReader, Facts
from agentflow.run.frame import Frame
from agentflow.run.ledger import Ledger
from agentflow.run.loop import SLICE, Latch, current_loop, give_way
from agentflow.run.run_id import new_run_id
from agentflow.run.signal import CancelSignal
from agentflow.run.suspension import Request

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.graph.plan import Plan
    from agentflow.graph.workflow import Workflow
    from agentflow.run.engine import Engine
    from agentflow.run.journal import Journal
    from agentflow.run.model_ports import ModelSource
    from agentflow.run.ports import Clock, Observer, Sink

__all__ = ["Run", "Status"]

R = TypeVar("R")
Status = StoredStatus

_BACKLOG: Final = 10_000
"""How many facts a started run keeps until somebody reads them."""


class Run(Generic[R]):
    """One execution of a workflow; made by `Engine.start`, which is used as `async with engine.start(…) as run`.

    Attributes:
        id: The run id.
        status: `running`, then `completed`, `failed` or `cancelled`; a durable run may stop as `suspended` or `interrupted`.
        ledger: What was spent and what is left.
        context: The caller's own map.
        requests: What the run waits for, if it is suspended.
        due: When it wants to go on, if it waits for a time.
        identity: Who the run is for, as the host gave it.
        deps: The live objects given to the run.
        models: The engine's models as they were when the run was made.
        supplied: The private fields that are supplied again to a run that goes on.
        parting: Why a durable run is about to be left `interrupted`; what is under way in it has not ended.
    """

    # With slots, because Python shares no table of names among objects with more than thirty of them.
    __slots__ = (
        *("__weakref__", "bus", "clock", "context", "deps", "due", "engine", "id", "identity"),
        *("journal", "ledger", "loop", "models", "monotonic", "parting", "pause_at", "requests"),
        *("signal", "sink", "status", "supplied", "thread", "_answers", "_began", "_error"),
        *("_frame", "_input", "_interrupted", "_leaving", "_left", "_observers", "_overtime"),
        *("_plan", "_private", "_read", "_settled", "_settling", "_task", "_value", "_variables"),
        "_watchers",
    )

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
        private: Any,
        read: bool,
        answers: Any = ATTACHED,
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
        self.journal: Journal | None = None
        self._input = input
        self._answers = answers
        self._private = private
        self.supplied: dict[str, Any] = {}
        self._observers = tuple(observers)
        self._read = read
        self._plan = plan
        self._frame = Frame(self, plan, id=self.id, signal=self.signal)
        self._left: State | None = None
        self._began: float | None = None
        self._variables: Context
        self._task: Detached | None = None
        self._watchers: list[Detached] = []
        self._overtime: BudgetExceeded | None = None
        self.parting: object = None
        self._leaving: object = None
        self.requests: tuple[Request, ...] = ()
        self.due: datetime | None = None
        self._interrupted = False
        self._settling = False
        self._settled: Latch | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    # The caller's side.

    @property
    def state(self) -> State:
        """The state as it is now; later commits do not show in it."""
        return snapshot_of(self._frame.state if self._left is None else self._left)

    @property
    def workflow(self) -> Workflow[R]:
        """The workflow that is run."""
        return self._plan.workflow

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
        await self.settled()
        return self.outcome()

    def settled(self) -> Awaitable[None]:
        """Wait until the run has ended or stopped, whatever came of it."""
        if self._settled is None:
            raise RuntimeError("the run has not begun: use 'async with engine.start(…) as run'")
        return self._settled.wait()

    def outcome(self) -> R:
        """The result of a run that has ended; raises as `result` does."""
        if self._error is not None:
            # By no name of its own: this frame stands in the traceback of what it raises.
            raise told_of(self._error, answers=self._answers is not ATTACHED)
        value: R = self._value
        return value

    def last_outcome(self) -> R:
        """The same for the only one who asks: an error leads back to the run, which keeps it for nobody else."""
        try:
            return self.outcome()
        finally:
            self._error = None

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
        """Cancel the run unless it has ended, and wait until it has; not itself interrupted by a cancel.

        A durable run is not cancelled but left where it is, `interrupted`, so that it can go on.
        """
        assert self._settled is not None
        if not self._settled.opened:
            if self.engine.store is not None and not self.signal.fired:
                self.parting = reason
            self.cancel(reason)
            with anyio.CancelScope(shield=True):
                await self._settled.wait()

    def part(self, reason: object) -> None:
        """Leave the run at its next record, `interrupted`; the visit under way goes to its end. For the engine alone."""
        self._leaving = reason
        self.pause_at = 0.0

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
        if self.engine.store is None:
            self._began = self.monotonic()
        self.pause_at = time.monotonic() + SLICE
        # One for all tasks of the run: what an observer sets with the first fact, it can reset with the last.
        self._variables = copy_context()
        self._task = Detached(self.loop, self._drive, context=self._variables)
        if self._settling:
            # An eager task of asyncio runs at once, and a short run with it to its end.
            return
        if self.signal.deadline != math.inf:
            # Waiting for it turns its deadline into a cancel, which interrupts the run as any other does.
            self._watchers.append(Detached(self.loop, self.signal.wait))
        if self.engine.store is None:
            self._watch_seconds()
        # After the task is there: a signal that is cancelled already calls back at once.
        self.signal.subscribe(self._wake)

    async def pause(self) -> None:
        """Let the loop do other things, and see to limits of time. Called between visits, when the run's slice is over."""
        # Not by the engine's clock: the slice is owed to the loop's other tasks, and a clock of a test may stand still.
        self.pause_at = await give_way()
        allowed = self.ledger.allowed("seconds")
        if allowed is not None and self.seconds > allowed:
            self._run_over(allowed)
        if self._leaving is not None and not self.signal.fired:
            self.parting = self._leaving
            self.cancel(self._leaving)
        if self.signal.cancelled:
            raise RunCancelled(self.signal.reason)

    async def _drive(self) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = await self._execute()
        except BaseException as raised:
            error = raised
        # What comes after the run was ended without its body does not count.
        if not self._settling:
            self._value, self._error = value, error
        del error  # This frame stands in its traceback.
        if not self._interrupted:
            await self._settle()

    async def _execute(self) -> Any:
        store = self.engine.store
        private = {} if self._private is None else await private_fields(self._private, self.id)
        if store is None:
            return await self._frame.execute(whole_input(self._input, private))
        found, input = await attach(self, store, self._input, private, self._answers)
        if isinstance(found, Ended):
            self.ledger.restore(found.used)
            self._frame.state = found.state
            if found.error is not None:
                raise found.error
            return found.value
        if self._settling:
            # The run was stopped while its journal was being opened, and nobody else could write that down.
            assert self._settled is not None
            await self._settled.wait()
            await record_end(found, Ending(error=self._error), self.ledger)
            return None
        self.journal = found
        self.ledger.restore(found.used)
        # Only now: neither a suspension nor the wait for another driver is active time.
        self._began = self.monotonic()
        self._watch_seconds()
        if found.resumed and self.bus is not None:
            self.bus.emit("run.resumed", self._frame)
        return await self._frame.execute(input)

    def used(self) -> dict[str, float]:
        """What the run, and everything below it, has spent up to now, with what its model calls have used."""
        return self.ledger.counters() | {"seconds": self.seconds}

    @property
    def seconds(self) -> float:
        """For how long the run has been active up to now."""
        here = 0.0 if self._began is None else self.monotonic() - self._began
        return round(self.ledger.used("seconds") + here, 6)

    def _watch_seconds(self) -> None:
        """Keep the limit of active time, if there is one."""
        allowed = self.ledger.allowed("seconds")
        if allowed is None:
            return

        left = max(0.0, allowed - self.ledger.used("seconds"))
        self._watchers.append(alarm(left, self, partial(self._run_over, allowed)))

    def _run_over(self, allowed: float) -> None:
        """Stop the run because its seconds are spent: as a cancel does, for everything below it."""
        used = max(allowed, self.seconds)
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
            if self._began is not None:
                self.ledger.spend_time(self.monotonic() - self._began)
                self._began = None
            ending = self._judged()
            for watcher in self._watchers:
                await watcher.leave()
            if self.journal is not None:
                ending = await record_end(self.journal, ending, self.ledger)
            self.status, self._value, self._error = ending.status, ending.value, ending.error
            if isinstance(ending.error, RunSuspended) and ending.status == "suspended":
                self.requests, self.due = ending.error.requests, ending.error.due
            if self.bus is not None:
                await tell_end(self.bus, self._frame, ending, self._overtime)
        finally:
            # Whatever happens to this task, whoever waits for the run must go on.
            self.engine.dismiss(self)
            self._settled.open()
            # What leads back here goes, so that a run that is over is freed at once and the collector finds nothing.
            self._left = self._frame.state
            del self._frame
            self.signal.unsubscribe(self._wake)

    def _judged(self) -> Ending:
        """How the frame ended, by its own account and by what became of the run meanwhile."""
        if self._overtime is not None and self.signal.reason is self._overtime:
            return Ending(error=self._overtime)
        if self.signal.fired:
            if self.parting is not None:
                reason = f"run {self.id} was stopped at its last record: {self.parting}"
                return Ending(error=RunInterrupted(reason))
            return cancelled(self.signal.reason, self._error)
        durable = self.engine.store is not None
        return ending_of(self.id, self._plan, self._value, self._error, durable=durable)

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self._plan.workflow.id!r}: {self.status}>"
