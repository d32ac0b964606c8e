"""The engine: a workflow bound to models, tools and observers. It holds nothing of a run but the running ones."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack

from agentflow.graph.limits import Budget
from agentflow.run import archive, ports
from agentflow.run.attach import ATTACHED, UNANSWERED
from agentflow.run.blocking import wait_for
from agentflow.run.entries import ENDED, RunInfo, StoredStatus
from agentflow.run.facts import Fact, as_observer
from agentflow.run.fold import state_at
from agentflow.run.model_ports import ModelSource
from agentflow.run.options import ResumeOptions, RunOptions, check_most, check_options
from agentflow.run.registry import NoModels, NoTools, load, opened, store_of
from agentflow.run.roster import Roster
from agentflow.run.run import Run
from agentflow.run.run_id import new_run_id
from agentflow.run.waking import waking

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.graph.workflow import Workflow
    from agentflow.run.archive import JournalRecord

__all__ = ["Engine"]

R = TypeVar("R")
_SYSTEM_CLOCK = ports.SystemClock()


class Engine(Generic[R]):
    """A workflow bound to models, tools and observers; runs it as often as you like, also at the same time.

    Use it as an async context manager, or call `close`: that cancels what is still running.

    Args:
        workflow: What to run.
        model: The default model: a provider, a `Model`, or a `"provider:model"` string. May be bound anew between runs;
            a running one keeps its own.
        models: Further models by name.
        tools: The tools that nodes may use. With an `MCPServer` among them, the engine must be entered, which connects to it.
        observers: Objects or functions that get the facts of every run.
        sink: Where content goes while it is made.
        store: Where runs are recorded, so that they survive this process: a `Store`, or a URL such as `sqlite:///runs.db`.
            The engine must then be entered (`async with`), which opens it.
        budget: The limits of every run; a run's own budget can only be tighter.
        authorize: A policy `(tool, input, ctx) -> bool` that every tool call must pass besides the tool's own.
        require_authorization: Refuse tools that neither policy speaks of.
        max_parallel_tools: How many tool calls of one model answer run at the same time.
        clock: Time; default: the machine's.

    Raises:
        TypeError: A model, a tool, a store or an observer is none.
        ValueError: A model's string names nothing, two tools have the same id, or no tool could run.
    """

    def __init__(
        self,
        workflow: Workflow[R],
        *,
        model: Any = None,
        models: Mapping[str, Any] | None = None,
        tools: Iterable[Any] = (),
        observers: Iterable[ports.Observer | Callable[[Fact], Any]] = (),
        sink: ports.Sink | None = None,
        store: ports.Store | str | None = None,
        budget: Budget | None = None,
        authorize: ports.Authorize | None = None,
        require_authorization: bool = False,
        max_parallel_tools: int = 10,
        clock: ports.Clock | None = None,
    ) -> None:
        check_options({"budget": budget, "sink": sink})
        self.workflow = workflow
        self.plan = workflow.plan
        self.sink = sink
        self.store: ports.Store | None = store_of(store)
        self.budget = budget
        self.authorize = authorize
        self.require_authorization = require_authorization
        self.max_parallel_tools = check_most("max_parallel_tools", max_parallel_tools)
        self.clock: ports.Clock = _SYSTEM_CLOCK if clock is None else clock
        self.clock_is_system = clock is None
        # The loop's own clock is only read through anyio, which is too slow to be asked at every visit.
        self.monotonic: Callable[[], float] = time.monotonic if clock is None else clock.monotonic
        self._observers = tuple(as_observer(observer) for observer in observers)
        self._named_models = dict(models) if isinstance(models, Mapping) else models
        # What is given is looked at now: a model or a tool that cannot be used must not wait for a run to say so.
        self.models: ModelSource = NoModels()
        self.tools: ports.ToolSource = NoTools()
        if model is not None or models is not None:
            self.models = load("models")(model, self._named_models)
        if given := tuple(tools):
            self.tools = load("tools")(given)
        self._roster: Roster[R] = Roster()
        self.closed = False
        self._entered = False

    async def run(self, input: Mapping[str, Any] | None = None, **options: Unpack[RunOptions]) -> R:
        """Run the workflow and return its result.

        Args:
            input: The fields that the run is given.
            options: See `RunOptions`.

        Raises:
            RunCancelled: The run was cancelled.
            BudgetExceeded: It reached a hard limit.
            ContractError: The input, an update, a route or the result broke the definition's word.
            RunConflict: A run of that id is under way, or is stored with another input or workflow.
            RunSuspended: It waits for an answer, or for a time.
            Exception: What a node raised, as it was raised.
        """
        return await self._finish(self._make(input, options, read=False))

    async def resume(
        self, run_id: str, answers: Any = UNANSWERED, **options: Unpack[ResumeOptions]
    ) -> R:
        """Answer a suspended run and go on with it; returns and raises as `run`.

        Args:
            run_id: The run.
            answers: A mapping of request id to answer, for some or all of its requests; or the bare answer when there is one.
                Without any, a run goes on whose time has come.
            options: See `ResumeOptions`.

        Raises:
            ResumeConflict: The run waits no more, or not for this answer: somebody else has answered, or it has ended.
            ContractError: There is no such run or request, or an answer is not what was asked for; the run goes on waiting.
            RunSuspended: It waits again, for what is still open or for something new. Without a store, a `RuntimeError`.
        """
        run = self._make(None, {**options, "run_id": run_id}, read=False, answers=answers)
        return await self._finish(run)

    async def _finish(self, run: Run[R]) -> R:
        run.begin()
        try:
            await run.settled()
        except BaseException:
            # The caller itself was cancelled: the run must not outlive its call.
            await run.stop("its caller was cancelled")
            raise
        return run.last_outcome()

    def start(
        self, input: Mapping[str, Any] | None = None, **options: Unpack[RunOptions]
    ) -> Run[R]:
        """A run to be followed: `async with engine.start(…) as run`. Takes what `run` takes.

        It begins when the block is entered; leaving the block early cancels it, or, with a store, leaves it `interrupted`.
        """
        return self._make(input, options, read=True)

    def reopen(
        self, run_id: str, answers: Any = UNANSWERED, **options: Unpack[ResumeOptions]
    ) -> Run[R]:
        """A suspended run to be followed while it goes on: `async with engine.reopen(…) as run`. Takes what `resume` takes."""
        return self._make(None, {**options, "run_id": run_id}, read=True, answers=answers)

    def run_sync(self, input: Mapping[str, Any] | None = None, **options: Any) -> R:
        """Run the workflow and wait for it, from code that is not async.

        Raises:
            RuntimeError: A loop is running in this thread; there, `await engine.run(…)`.
        """
        value: R = wait_for(self._run_alone, input, options)
        return value

    async def _run_alone(self, input: Mapping[str, Any] | None, **options: Any) -> R:
        # The loop ends with the run, and whatever is connected in it.
        async with opened(self.tools):
            try:
                return await self.run(input, **options)
            finally:
                await self.models.close()

    def cancel(self, run_id: str, reason: object = None) -> Awaitable[bool]:
        """Cancel a run by its id, running here or waiting in the store; awaited, it tells whether there was one to cancel.

        A run that is running here is cancelled at once, also if nobody awaits that.
        """
        run = self._roster.get(run_id)
        if run is not None:
            run.cancel(reason)
        if run is not None or self.store is None:
            return archive.Known(run is not None)
        return archive.cancel(self.store, run_id, reason)

    def get(self, run_id: str) -> Run[R] | None:
        """The run of that id that is running here, or `None`."""
        return self._roster.get(run_id)

    async def runs(self, status: StoredStatus | None = None, *, limit: int = 1000) -> list[RunInfo]:
        """The runs of the store, of this workflow and others, the oldest first; `status` picks those of one status."""
        return await self._stored().find(status=status, limit=limit)

    async def history(self, run_id: str) -> list[JournalRecord]:
        """Everything that happened in a stored run, in order."""
        return archive.history(await self._stored().read(run_id, after=0))

    async def state_at(self, run_id: str, number: int, frame: str = "") -> State:
        """The state of a stored run right after the record of that number.

        Args:
            run_id: The run.
            number: The record.
            frame: The workflow inside whose state is wanted, as records tell it; default: the run's own.

        Raises:
            LookupError: There is no such run or record.
            IncompatibleRun: The definition of today cannot read it.
        """
        entries = await self._stored().read(run_id, after=0)
        return state_at(self.plan, entries, number, frame)

    async def fork(
        self,
        run_id: str,
        *,
        at: int,
        update: Mapping[str, Any] | None = None,
        new_id: str | None = None,
        **options: Unpack[ResumeOptions],
    ) -> Run[R]:
        """A new run that goes on from right after a record of a stored one, which stays as it is.

        What was recorded up to there is not done again; routes are chosen anew where the state is edited. Used as `async with
        await engine.fork(…) as run`; until then it is stored, `interrupted`.

        Args:
            run_id: The other run.
            at: The number of the record.
            update: Fields to change in the state that the record left: that of the workflow that the record belongs to.
            new_id: The id of the new run; default: a new one.
            options: See `ResumeOptions`.

        Raises:
            LookupError: There is no such run or record, or the run ended there.
            ContractError: The update is invalid, or the record leaves no state.
            RunConflict: The run is one of another workflow, or the new id is taken.
        """
        made = new_run_id() if new_id is None else new_id
        await archive.fork(self, self._stored(), run_id, at, update, made)
        return self.start(run_id=made, **options)

    async def recover(
        self, *, at_once: int = 100, **options: Unpack[ResumeOptions]
    ) -> dict[str, Run[R]]:
        """Go on with every run of this workflow that nobody drives: those that were interrupted, and those whose time has come.

        Args:
            at_once: How many go on at the same time.
            options: See `ResumeOptions`; for each of the runs.

        Returns:
            The runs by id, when they have ended or stopped again; `run.outcome()` gives the result or raises.
        """
        return await archive.recover(self, self._stored(), at_once, options)

    def waking(
        self, *, every: float = 1.0, at_once: int = 100, **options: Unpack[ResumeOptions]
    ) -> AbstractAsyncContextManager[None]:
        """While the block is open, suspended runs of this workflow go on when their time comes: `async with engine.waking():`.

        Args:
            every: Seconds between two looks into the store, on the engine's clock; a run goes on at most so late.
            at_once: How many go on at the same time.
            options: See `ResumeOptions`; for each of the runs.
        """
        return waking(self, self._stored(), every, at_once, options)

    async def prune(
        self,
        older_than: datetime | timedelta | None = None,
        statuses: Collection[StoredStatus] = ENDED,
    ) -> int:
        """Delete runs of the store with everything that belongs to them, of this workflow and others; tells how many.

        Args:
            older_than: Only those that were last written before this time, or longer ago than this.
            statuses: Only those of these statuses; default: those that have ended.

        Raises:
            ValueError: A status is none, or is `running`: what is driven is cancelled first.
        """
        return await archive.prune(self._stored(), self.clock.now(), older_than, statuses)

    def _stored(self) -> ports.Store:
        if self.store is None:
            raise RuntimeError("the engine has no store: give it one, as store='sqlite:///runs.db'")
        return self.store

    def rebind(self, *, model: Any) -> None:
        """Bind another default model: the next run uses it, a running one keeps its own."""
        self.models = load("models")(model, self._named_models, before=self.models)

    async def drain(self, deadline: float) -> None:
        """Stop in good order: visits under way may finish, then every run is left at its last record, `interrupted`.

        The engine takes no further runs. Without a store there is no record to go on from: then runs may come to their
        end, and are cancelled at the deadline.

        Args:
            deadline: Seconds from now, on the engine's clock. A visit that takes longer is interrupted, and made again
                when the run goes on.
        """
        self.closed = True
        await archive.drain(self, self._roster.all(), deadline)

    async def close(self) -> None:
        """Cancel what is running and wait for it; the engine takes no further runs."""
        self.closed = True
        for run in self._roster.all():
            await run.stop("the engine was closed")
        await self.models.close()
        if self._entered:
            await self.tools.close()
            if self.store is not None:
                await self.store.close()

    async def __aenter__(self) -> Self:
        if self.store is not None:
            await self.store.open()
        try:
            await self.tools.open()
        except BaseException:
            if self.store is not None:
                await self.store.close()
            raise
        self._entered = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def enrol(self, run: Run[R]) -> None:
        """Take a run that begins. For the run alone."""
        if self.closed:
            raise RuntimeError(f"the engine of workflow {self.workflow.id!r} is closed")
        if self.store is not None and not self._entered:
            raise RuntimeError(
                "an engine with a store is entered first: async with Engine(…, store=…) as engine"
            )
        if not self.tools.opened:
            raise RuntimeError("an engine with a server of tools is entered first, by async with")
        self._roster.add(run, stored=self.store is not None)

    def dismiss(self, run: Run[R]) -> None:
        """Forget a run that has ended. For the run alone."""
        self._roster.remove(run)

    def _make(
        self,
        input: Mapping[str, Any] | None,
        options: RunOptions,
        *,
        read: bool,
        answers: Any = ATTACHED,
    ) -> Run[R]:
        if options:
            check_options(options)
        if answers is not ATTACHED:
            self._stored()
        more = tuple(map(as_observer, options.get("observers", ())))
        budget = options.get("budget")
        if budget is None:
            budget = self.budget
        elif self.budget is not None:
            budget = budget.tightened(self.budget)
        sink = options.get("sink")
        return Run(
            self,
            self.plan,
            input,
            run_id=options.get("run_id"),
            signal=options.get("signal"),
            budget=budget,
            context=options.get("context"),
            identity=options.get("identity"),
            deps=options.get("deps"),
            observers=(*self._observers, *more) if more else self._observers,
            sink=self.sink if sink is None else sink,
            private=options.get("private"),
            read=read,
            answers=answers,
        )
