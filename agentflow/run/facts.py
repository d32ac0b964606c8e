"""Facts: metadata of what happened, for observers and readers, made only when somebody wants them.

A fact tells that something happened, where and when. What nodes wrote, models said and tools returned is content: it is
there only for those who asked for it, kind by kind.
"""

from __future__ import annotations

import inspect
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.graph.frozen import FrozenDict, lend
from agentflow.run.decide import told
from agentflow.run.detached import Detached
from agentflow.run.loop import Latch, Loop
from agentflow.run.ports import Clock, Observer

if TYPE_CHECKING:
    from agentflow.errors import BudgetExceeded
    from agentflow.run.frame import Frame

__all__ = ["FACT_KINDS", "Fact", "FactReader", "Facts"]

FACT_KINDS: Final[Mapping[str, str]] = {
    "run.started": "A run began. Data: `inputs`, the names of the fields given, and `parent_node` below a node.",
    "run.suspended": "A run stopped to wait. Data: `requests` (their ids), `due`, `used`.",
    "run.resumed": "A run that had stopped goes on; what it did before is not told again.",
    "run.interrupted": "A durable run was stopped at its last record and can go on. Data: `error`, `message`, `used`.",
    "run.completed": "A run ended with a result. Data: `visits`, `used`, `bailed`. Content: the result.",
    "run.failed": "A run ended with an error. Data: `error`, `message`, `used`.",
    "run.cancelled": "A run was cancelled. Data: `reason`, `used`.",
    "round.started": "A round was opened.",
    "node.started": "An attempt of a node's body began.",
    "node.progress": "A node reported, or one of its branches has ended, or was collected. Data: `used_model`; of a branch `branch`, `done` "
    "and `of`. Content: `payload` and `subs`.",
    "node.committed": "An update was committed. Data: `fields`. Content: the update.",
    "node.failed": "A node's last attempt failed. Data: `error`, `message`, `handler`.",
    "node.retried": "An attempt failed and another follows. Data: `error`, `message`, `delay` in seconds.",
    "route.taken": "A route was taken. Data: `index`, `route` (its kind), `target`.",
    "model.started": "A model call was sent. Data: `model`, `transport`, and `stage` if it has one.",
    "model.retried": "A try of a model call failed, and another follows. Data: `model`, `error`, `message`, `next` (the model asked then), `delay` in seconds.",
    "model.chunk": "A model sent a chunk. Data: `type`. Content: the chunk.",
    "model.completed": "A model call ended well. Data: `model`, `usage`, `finish_reason`. Content: the value.",
    "model.failed": "A model call failed. Data: `model`, `error`, `message`, `usage` as far as known.",
    "tool.started": "A tool's handler was called. Data: `tool`, `try`. Content: the input.",
    "tool.progress": "A tool told how far its call is. Data: `tool`, `done`, `total` if it is known. Content: a message.",
    "tool.completed": "A tool call ended well. Data: `tool`, `cached` if an equal call had given the value. Content: the value.",
    "tool.failed": "A tool call, or a try of it, failed. Data: `tool`, `error`, `message`, `again` if another try follows.",
    "tool.denied": "A tool call was not authorised. Data: `tool`, `reason`.",
    "tool.repeated": "A model made the same call once more, and is warned. Data: `tool`, `times`, `stop` (the call that ends the run).",
    "step.completed": "An agent's step ended. Data: `step`, `finish_reason`, `usage`, and `items`: the kind of each text, tool call "
    "and tool result in it, with its size or tool. Content: its messages.",
    "history.repaired": "A history could not be sent as it was. Data: `repairs`, each with its `kind` and where (`at`).",
    "memory.recalled": "An agent has read what it remembers. Data: `turns`, `messages`.",
    "memory.saved": "A turn became a part of its conversation's history. Data: `messages`.",
    "memory.skipped": "A turn was not kept. Data: `reason`.",
    "middleware.started": "A middleware took what passed its boundary. Data: `middleware`, `boundary`, `place` in the list, from 1.",
    "middleware.completed": "It gave what goes on. Data: the same. Content: `before` and `after`.",
    "middleware.failed": "It ended the call or the attempt, or failed. Data: the same, `error`, `message`.",
    "guardrail.judged": "A guardrail gave its verdict. Data: `guardrail`, `boundary`, `passed`, and a `reason` if it blocked.",
    "effect.replayed": "An effect of this visit was answered from its record. Data: `kind`, `key`.",
    "limit.reached": "A limit was reached. Data: `limit`, `allowed`, `used`, `handler` if a node takes over.",
    "thread.abandoned": "A body ignored the cancel or its timeout and was left behind; its result is dropped.",
    "observer.failed": "An observer raised. Data: `observer`, `error`, `message`, `failures`.",
}
"""Every kind of fact and what it carries."""


_OBSERVER_GRACE: Final = 1.0
"""Seconds that async observers get to take the last facts; a stuck one must not keep the run from ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that happened.

    Args:
        kind: One of `FACT_KINDS`.
        seq: Its number in the run, from 1, sub-workflows counted in.
        time: When, by the engine's clock.
        run_id: The run; for a sub-workflow its own run, with `parent_run_id` the one it belongs to.
        workflow_id: The workflow that the run executes.
        workflow_version: Its version.
        node_id: The node concerned, if one is.
        visit: Which visit of that node in that run, from 1.
        round: The round of the run.
        attempt: Which try of the node's body, from 1.
        call_id: The model or tool call concerned.
        data: Metadata, as `FACT_KINDS` tells.
        content: What was written or said; `None` unless the observer asked for content of this kind.
    """

    kind: str
    seq: int
    time: datetime
    run_id: str
    workflow_id: str
    workflow_version: str
    parent_run_id: str | None = None
    node_id: str | None = None
    visit: int | None = None
    round: int | None = None
    attempt: int | None = None
    call_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    content: Any = None


def limit_data(error: BudgetExceeded, handler: str | None = None) -> dict[str, Any]:
    """The data of a `limit.reached` fact."""
    return {"limit": error.limit, "allowed": error.allowed, "used": error.used, "handler": handler}


class _Callable:
    """A plain callable as an observer of all metadata."""

    def __init__(self, call: Callable[[Fact], Any]) -> None:
        self._call = call

    def accepts(self, kind: str, content: bool) -> bool:
        return not (content and kind)

    def event(self, fact: Fact) -> Any:
        return self._call(fact)

    def __repr__(self) -> str:
        return repr(self._call)


def as_observer(observer: Observer | Callable[[Fact], Any]) -> Observer:
    """The observer itself, or a plain callable as one.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(observer, Observer):
        return observer
    if callable(observer):
        return _Callable(observer)
    raise TypeError(
        f"{observer!r} is no observer: give a function (fact), or an object with accepts(kind, content) and event(fact)"
    )


class _Listener:
    """An observer with what it accepts, remembered for each kind, and its failures."""

    __slots__ = ("_accepted", "failures", "observer")

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.failures = 0
        self._accepted: dict[str, tuple[bool, bool]] = {}

    def accepted(self, kind: str) -> tuple[bool, bool]:
        """Whether it wants the kind at all, and with content."""
        known = self._accepted.get(kind)
        if known is None:
            content = self._answer(kind, True)
            known = content or self._answer(kind, False), content
            self._accepted[kind] = known
        return known

    def _answer(self, kind: str, content: bool) -> bool:
        answer: object = self.observer.accepts(kind, content)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            # Awaiting it would be too late, and taken as it is it would always mean yes, to content too.
            raise TypeError("accepts(kind, content) must be synchronous")
        return bool(answer)


class Facts:
    """The facts of one run and everything below it: numbered, stamped, handed to whoever listens."""

    def __init__(self, observers: Iterable[Observer], clock: Clock, loop: Loop) -> None:
        self._listeners = [_Listener(observer) for observer in observers]
        self._clock = clock
        self._loop = loop
        # Held weakly: a reader that nobody holds any more has stopped reading.
        self._readers: weakref.WeakSet[FactReader] = weakref.WeakSet()
        self._seq = 0
        self._backlog: deque[Fact] | None = None
        self._pumps: dict[_Listener, _Pump] = {}
        self.failures = 0
        self.closed = False

    def keep_backlog(self, most: int) -> None:
        """Keep the latest `most` facts until the first reader comes."""
        self._backlog = deque(maxlen=most)

    def emit(
        self,
        kind: str,
        frame: Frame,
        *,
        data: Mapping[str, Any] | None = None,
        content: Any = None,
        node_id: str | None = None,
        visit: int | None = None,
        attempt: int | None = None,
        call_id: str | None = None,
        without: _Listener | None = None,
    ) -> None:
        """Tell everybody who listens, but `without`, that something happened; nothing after the end. Never raises."""
        if self.closed:
            return
        self._seq += 1
        workflow = frame.plan.workflow
        fact = Fact(
            kind=kind,
            seq=self._seq,
            time=self._clock.now(),
            run_id=frame.id,
            workflow_id=workflow.id,
            workflow_version=workflow.version,
            parent_run_id=frame.parent_id,
            node_id=node_id,
            visit=visit,
            round=frame.round,
            attempt=attempt,
            call_id=call_id,
            data=FrozenDict(data or {}),
        )
        for reader in list(self._readers):
            reader.put(fact)
        if self._backlog is not None:
            self._backlog.append(fact)
        failures: list[tuple[_Listener, BaseException]] = []
        for listener in filter(lambda one: one is not without, self._listeners):
            try:
                wanted, with_content = listener.accepted(kind)
                if not wanted:
                    continue
                told = fact
                if with_content and content is not None:
                    told = replace(fact, content=lend(content))
                answer = listener.observer.event(told)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                # A cancel, too, is the observer's own here, where nothing is awaited.
                failures.append((listener, error))
            else:
                if inspect.isawaitable(answer):
                    self._pump(listener, frame).put(fact, answer)
        # After everybody has this fact: the next one must not overtake it.
        for listener, raised in failures:
            self._failed(listener, raised, fact, frame)

    def _failed(self, listener: _Listener, error: BaseException, fact: Fact, frame: Frame) -> None:
        listener.failures += 1
        self.failures += 1
        # Loaded only now: most programs never see an observer fail, and it is slow to load.
        import structlog

        structlog.get_logger("agentflow").warning(
            "observer failed", observer=repr(listener.observer), kind=fact.kind, error=repr(error)
        )
        if fact.kind != "observer.failed":
            data = {
                "observer": type(listener.observer).__name__,
                "error": type(error).__name__,
                "message": told(error),
                "failures": listener.failures,
            }
            # Its own failure would make it fail again, and every failure would be logged twice.
            self.emit("observer.failed", frame, data=data, without=listener)

    def _pump(self, listener: _Listener, frame: Frame) -> _Pump:
        pump = self._pumps.get(listener)
        if pump is None:
            pump = self._pumps[listener] = _Pump(
                self._loop, lambda error, fact: self._failed(listener, error, fact, frame)
            )
        return pump

    def read(self) -> FactReader:
        """A reader of the facts from now on, or from the beginning if none has been read yet."""
        reader = FactReader(self, self._loop)
        if self._backlog is not None:
            for fact in self._backlog:
                reader.put(fact)
            self._backlog = None
        if self.closed:
            reader.end()
        else:
            self._readers.add(reader)
        return reader

    def detach(self, reader: FactReader) -> None:
        """Forget a reader."""
        self._readers.discard(reader)

    async def close(self) -> None:
        """Let async observers take what they were told, for a moment, then end every reader."""
        try:
            with anyio.move_on_after(_OBSERVER_GRACE, shield=True):
                for pump in self._pumps.values():
                    await pump.drain()
        finally:
            self.closed = True
            for reader in list(self._readers):
                reader.end()
            self._readers.clear()
            for pump in self._pumps.values():
                await pump.stop()


class _Pump:
    """Awaits the answers of one async observer, in order, beside the run."""

    def __init__(self, loop: Loop, failed: Callable[[Exception, Fact], None]) -> None:
        self._loop = loop
        self._failed = failed
        self._waiting: deque[tuple[Fact, Any]] = deque()
        self._task: Detached | None = None
        # One for all its answers: what the observer sets with one fact, it can reset with another.
        self._context = copy_context()

    def put(self, fact: Fact, answer: Any) -> None:
        self._waiting.append((fact, answer))
        if self._task is None:
            self._task = Detached(self._loop, self._run, context=self._context)

    async def _run(self) -> None:
        try:
            while self._waiting:
                fact, answer = self._waiting.popleft()
                try:
                    await answer
                except Exception as error:
                    self._failed(error, fact)
        finally:
            self._task = None

    async def drain(self) -> None:
        while self._task is not None:
            await self._task.done.wait()

    async def stop(self) -> None:
        """Give up what is not taken yet: an observer that is stuck must not outlive the run."""
        for _, answer in self._waiting:
            # A coroutine that is never awaited would warn.
            if inspect.iscoroutine(answer):
                answer.close()
        self._waiting.clear()
        if self._task is not None:
            await self._task.leave()


class FactReader(AsyncIterator[Fact]):
    """An iterator over the facts of a run; it ends with the run. Breaking out only detaches it."""

    def __init__(self, facts: Facts, loop: Loop) -> None:
        self._facts = facts
        self._loop = loop
        self._waiting: deque[Fact] = deque()
        self._more: Latch | None = None
        self._ended = False

    def put(self, fact: Fact) -> None:
        """Take one fact."""
        self._waiting.append(fact)
        if self._more is not None:
            self._more.open()

    def end(self) -> None:
        """There will be no more."""
        self._ended = True
        if self._more is not None:
            self._more.open()

    def close(self) -> None:
        """Stop listening."""
        self._facts.detach(self)
        self.end()

    def __aiter__(self) -> FactReader:
        return self

    async def __anext__(self) -> Fact:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            if self._more is None or self._more.opened:
                self._more = self._loop.latch()
            await self._more.wait()
        return self._waiting.popleft()
