"""The engine: a workflow bound to models, tools and observers. It holds nothing of a run but the running ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import anyio

from agentflow.errors import RunConflict
from agentflow.graph.limits import Budget
from agentflow.run.facts import Fact, as_observer
from agentflow.run.loop import in_loop
from agentflow.run.ports import (
    Authorize,
    Clock,
    ModelSource,
    Observer,
    Sink,
    SystemClock,
    ToolSource,
)
from agentflow.run.registry import NoModels, load
from agentflow.run.run import Run
from agentflow.run.signal import CancelSignal

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["Engine", "run_once", "run_once_sync"]

R = TypeVar("R")
_SYSTEM_CLOCK = SystemClock()


class Engine(Generic[R]):
    """A workflow bound to models, tools and observers; runs it as often as you like, also at the same time.

    Use it as an async context manager, or call `close`: that cancels what is still running.

    Args:
        workflow: What to run.
        model: The default model: a provider, a `Model`, or a `"provider:model"` string. May be bound anew between runs;
            a running one keeps its own.
        models: Further models by name.
        tools: The tools that nodes may use.
        observers: Objects or functions that get the facts of every run.
        sink: Where content goes while it is made.
        budget: The limits of every run; a run's own budget can only be tighter.
        authorize: A policy `(tool, input, ctx) -> bool` that every tool call must pass besides the tool's own.
        require_authorization: Refuse tools that neither policy speaks of.
        max_parallel_tools: How many tool calls of one model answer run at the same time.
        clock: Time; default: the machine's.

    Raises:
        TypeError: A model, a tool or an observer is none.
        ValueError: A model's string names nothing that is installed, or two tools have the same id.
    """

    def __init__(
        self,
        workflow: Workflow[R],
        *,
        model: Any = None,
        models: Mapping[str, Any] | None = None,
        tools: Iterable[Any] = (),
        observers: Iterable[Observer | Callable[[Fact], Any]] = (),
        sink: Sink | None = None,
        budget: Budget | None = None,
        authorize: Authorize | None = None,
        require_authorization: bool = False,
        max_parallel_tools: int = 10,
        clock: Clock | None = None,
    ) -> None:
        _check_options(None, None, budget, None, sink)
        self.workflow = workflow
        self.plan = workflow.plan
        self.sink = sink
        self.budget = budget
        self.authorize = authorize
        self.require_authorization = require_authorization
        self.max_parallel_tools = max_parallel_tools
        self.clock: Clock = _SYSTEM_CLOCK if clock is None else clock
        self.clock_is_system = clock is None
        # The loop's own clock is only read through anyio, which is too slow to be asked at every visit.
        self.monotonic: Callable[[], float] = time.monotonic if clock is None else clock.monotonic
        self._observers = tuple(as_observer(observer) for observer in observers)
        self._named_models = dict(models or {})
        self._tools = tuple(tools)
        self._tool_source: ToolSource | None = None
        # What is given is looked at now: a model or a tool that cannot be used must not wait for a run to say so.
        self.models: ModelSource = NoModels()
        if model is not None or self._named_models:
            self.models = load("models")(model, self._named_models)
        if self._tools:
            self._tool_source = load("tools")(self._tools)
        self._running: dict[str, Run[R]] = {}
        self._closed = False

    @property
    def tools(self) -> ToolSource:
        """The engine's tools, made when a node first asks for them."""
        if self._tool_source is None:
            self._tool_source = load("tools")(self._tools)
        source: ToolSource = self._tool_source
        return source

    async def run(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        signal: CancelSignal | None = None,
        budget: Budget | None = None,
        context: dict[str, Any] | None = None,
        identity: Any = None,
        deps: Any = None,
        observers: Iterable[Observer | Callable[[Fact], Any]] = (),
        sink: Sink | None = None,
    ) -> R:
        """Run the workflow and return its result.

        Args:
            input: The fields that the run is given.
            run_id: An id for it; default: a new one.
            signal: Cancels the run.
            budget: Limits besides the engine's.
            context: A map of the caller's, shared with everything below the run.
            identity: Who the run is for.
            deps: Live objects for the nodes, such as clients and pools.
            observers: Further observers, for this run.
            sink: Where content goes, instead of the engine's sink.

        Raises:
            RunCancelled: The run was cancelled.
            BudgetExceeded: It reached a hard limit.
            ContractError: The input, an update, a route or the result broke the definition's word.
            RunConflict: A run of that id is under way.
            Exception: What a node raised, as it was raised.
        """
        run = self._make(
            input, run_id, signal, budget, context, identity, deps, observers, sink, read=False
        )
        run.begin()
        try:
            return await run.result()
        finally:
            # Only if the caller itself was cancelled or has failed: the run must not outlive its call.
            await run.stop("its caller was cancelled")

    def start(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        signal: CancelSignal | None = None,
        budget: Budget | None = None,
        context: dict[str, Any] | None = None,
        identity: Any = None,
        deps: Any = None,
        observers: Iterable[Observer | Callable[[Fact], Any]] = (),
        sink: Sink | None = None,
    ) -> Run[R]:
        """A run to be followed: `async with engine.start(…) as run`. Takes what `run` takes.

        It begins when the block is entered; leaving the block early cancels it.
        """
        return self._make(
            input, run_id, signal, budget, context, identity, deps, observers, sink, read=True
        )

    def run_sync(self, input: Mapping[str, Any] | None = None, **options: Any) -> R:
        """Run the workflow and wait for it, from code that is not async.

        Raises:
            RuntimeError: A loop is running in this thread; there, `await engine.run(…)`.
        """
        value: R = _wait_for(self.run, input, options)
        return value

    def cancel(self, run_id: str, reason: object = None) -> bool:
        """Cancel a run of this engine by its id; tells whether it was running."""
        run = self._running.get(run_id)
        if run is not None:
            run.cancel(reason)
        return run is not None

    def get(self, run_id: str) -> Run[R] | None:
        """The running run of that id, or `None`."""
        return self._running.get(run_id)

    def rebind(self, *, model: Any) -> None:
        """Bind another default model: the next run uses it, a running one keeps its own."""
        self.models = load("models")(model, self._named_models)

    async def close(self) -> None:
        """Cancel what is running and wait for it; the engine takes no further runs."""
        self._closed = True
        for run in list(self._running.values()):
            await run.stop("the engine was closed")

    async def __aenter__(self) -> Self:
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
        if self._closed:
            raise RuntimeError(f"the engine of workflow {self.workflow.id!r} is closed")
        if run.id in self._running:
            raise RunConflict(f"run {run.id!r} is under way; give another run_id, or wait for it")
        self._running[run.id] = run

    def dismiss(self, run: Run[R]) -> None:
        """Forget a run that has ended. For the run alone."""
        self._running.pop(run.id, None)

    def _make(
        self,
        input: Mapping[str, Any] | None,
        run_id: str | None,
        signal: CancelSignal | None,
        budget: Budget | None,
        context: dict[str, Any] | None,
        identity: Any,
        deps: Any,
        observers: Iterable[Observer | Callable[[Fact], Any]],
        sink: Sink | None,
        *,
        read: bool,
    ) -> Run[R]:
        if (run_id, signal, budget, context, sink) != _NOTHING:
            _check_options(run_id, signal, budget, context, sink)
        more = tuple(as_observer(observer) for observer in observers)
        if budget is None:
            budget = self.budget
        elif self.budget is not None:
            budget = budget.tightened(self.budget)
        return Run(
            self,
            self.plan,
            input,
            run_id=run_id,
            signal=signal,
            budget=budget,
            context=context,
            identity=identity,
            deps=deps,
            observers=(*self._observers, *more) if more else self._observers,
            sink=self.sink if sink is None else sink,
            read=read,
        )


_NOTHING = (None, None, None, None, None)


def _check_options(run_id: Any, signal: Any, budget: Any, context: Any, sink: Any) -> None:
    given = (
        ("run_id", run_id, str, "a text"),
        ("signal", signal, CancelSignal, "a CancelSignal"),
        ("budget", budget, Budget, "a Budget"),
        ("context", context, MutableMapping, "a dict"),
    )
    for name, value, kind, wanted in given:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name}={value!r}: it is {wanted}, or None")
    if sink is not None and not callable(getattr(sink, "send", None)):
        raise TypeError(
            f"sink={sink!r} is no sink: give an object with an async method send(chunk)"
        )


_RUN_OPTIONS = frozenset({"run_id", "signal", "context", "identity", "deps"})


async def run_once(workflow: Workflow[R], input: Mapping[str, Any] | None, **options: Any) -> R:
    """Run a workflow on an engine of its own; options are those of `Engine` and of `Engine.run`."""
    if not options:
        return await Engine(workflow).run(input)
    mine = {name: options.pop(name) for name in _RUN_OPTIONS & options.keys()}
    async with Engine(workflow, **options) as engine:
        return await engine.run(input, **mine)


def run_once_sync(workflow: Workflow[R], input: Mapping[str, Any] | None, **options: Any) -> R:
    """`run_once`, waited for in a loop of its own."""
    value: R = _wait_for(workflow.run, input, options)
    return value


def _wait_for(function: Callable[..., Any], input: Any, options: dict[str, Any]) -> Any:
    if in_loop():
        raise RuntimeError(
            "run_sync() was called where an event loop is already running, as in an async function or a notebook; "
            "await run() there"
        )
    return anyio.run(_call, function, input, options)


async def _call(function: Callable[..., Any], input: Any, options: dict[str, Any]) -> Any:
    return await function(input, **options)
