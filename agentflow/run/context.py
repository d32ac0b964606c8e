"""The node context: everything a running node may see and use."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

import anyio

from agentflow.errors import ContractError, RunCancelled
from agentflow.run.decide import Bail, Failure, Suspend
from agentflow.run.effects import effect, emit
from agentflow.run.sublog import SubLog
from agentflow.run.suspension import answer_of, request_of
from agentflow.run.timers import Waits, due_in
from agentflow.run.visit_record import VisitRecord

if TYPE_CHECKING:
    from agentflow.graph.limits import Uses
    from agentflow.graph.plan import PlanNode
    from agentflow.graph.reducer import Reducer
    from agentflow.run.frame import Frame
    from agentflow.run.ledger import Ledger
    from agentflow.run.model_ports import ModelCalls
    from agentflow.run.ports import ToolCalls
    from agentflow.run.run import Run
    from agentflow.run.signal import CancelSignal
    from agentflow.run.suspension import Request
    from agentflow.run.sync_context import SyncContext

__all__ = ["NodeContext"]

_LONG: Final = 5.0
"""Seconds that a durable run waits in memory; for a longer time it is suspended."""


class NodeContext:
    """What a node's function gets as `ctx`: the models, tools, signal and data of its visit, and nothing of others.

    Attributes:
        frame: The execution of the workflow that this visit belongs to; the kernel's own.
        visit: Which visit of this node in this run, from 1.
        attempt: Which try of the node's body inside the visit, from 1.
        failure: In an error node, the failure that led here; else `None`.
        over: Whether the attempt has ended, so that nothing more can be done through this context; set by the kernel.
    """

    __slots__ = (
        "_models",
        "_node",
        "_record",
        "_signal",
        "_tools",
        "_waits",
        "attempt",
        "failure",
        "frame",
        "over",
        "visit",
    )

    def __init__(
        self,
        frame: Frame,
        node: PlanNode,
        visit: int,
        attempt: int = 1,
        failure: Failure | None = None,
        record: VisitRecord | None = None,
    ) -> None:
        self.frame = frame
        self._node = node
        self.visit = visit
        self.attempt = attempt
        self.failure = failure
        self._record = record
        self.over = False
        self._signal: CancelSignal | None = None
        self._models: ModelCalls | None = None
        self._tools: ToolCalls | None = None
        self._waits: Waits | None = None

    @property
    def run(self) -> Run[Any]:
        """The run, the same object wherever it is asked for."""
        return self.frame.run

    @property
    def run_id(self) -> str:
        """The id of the run; in a sub-workflow, of its own run."""
        return self.frame.id

    @property
    def node_id(self) -> str:
        """The id of this node."""
        return self._node.id

    @property
    def place(self) -> str:
        """Where this visit stands below its run; the kernel's own."""
        return self.frame.place(self._node, self.visit)

    @property
    def where(self) -> dict[str, Any]:
        """The same as the journal tells it."""
        return {"frame": self.frame.path, "node": self.node_id, "visit": self.visit}

    @property
    def uses(self) -> Uses | None:
        """What one visit of this node may spend."""
        return self._node.uses

    def reducer_of(self, field: str) -> Reducer | None:
        """How an update of a field that this node writes is joined with its value; the kernel's own."""
        return self.frame.plan.schema.field(field).reducer

    @property
    def round(self) -> int:
        """The round of the run, from 1."""
        return self.frame.round

    @property
    def signal(self) -> CancelSignal:
        """Cancelled when this run is, or when the node's timeout has passed; hand it to whatever takes long."""
        return self.frame.signal if self._signal is None else self._signal

    @property
    def context(self) -> dict[str, Any]:
        """The caller's own map, one object for a run and everything below it."""
        return self.frame.run.context

    @property
    def identity(self) -> Any:
        """Who this is for, set by the host."""
        return self.frame.run.identity

    @property
    def deps(self) -> Any:
        """The live objects that the caller gave to the run."""
        return self.frame.run.deps

    @property
    def ledger(self) -> Ledger:
        """What was spent and what is left."""
        return self.frame.ledger

    @property
    def record(self) -> VisitRecord:
        """The effects of this visit; the kernel's own."""
        if self._record is None:
            self._record = VisitRecord(self.frame.run.journal, self.place)
            self.frame.record = self._record
        return self._record

    @property
    def in_own_task(self) -> bool:
        """Whether the task that runs the body is the one that asks; the kernel's own."""
        own = self.frame.task if self.record.task is None else self.record.task
        # Without a journal it is the same whoever does it.
        return own is None or own == anyio.get_current_task().id

    @property
    def log(self) -> Any:
        """A structlog logger that knows run, workflow, node, visit and attempt."""
        import structlog

        return structlog.get_logger("agentflow").bind(
            run_id=self.run_id,
            workflow=self.frame.plan.workflow.id,
            node=self.node_id,
            visit=self.visit,
            attempt=self.attempt,
        )

    @property
    def model(self) -> ModelCalls:
        """The models of the engine, tied to the cancel, the budget and the facts of this visit."""
        if self._models is None:
            self._models = self.frame.run.models.bind(self)
        return self._models

    @property
    def tools(self) -> ToolCalls:
        """The tools of the engine, tied to the cancel, the budget and the facts of this visit."""
        if self._tools is None:
            self._tools = self.frame.run.engine.tools.bind(self)
        return self._tools

    @property
    def sync(self) -> SyncContext:
        """The same calls for a plain function, which runs in a worker thread."""
        from agentflow.run.sync_context import SyncContext

        return SyncContext(self)

    def effect_key(self, name: str) -> str:
        """A key for an effect of this visit: the same whenever this visit is gone through again, unique otherwise.

        Made for idempotency keys of services outside.
        """
        return f"{self.frame.id}/{self.node_id}#{self.visit}/{name}"

    def report(
        self, used_model: bool | None = None, payload: Any = None, subs: SubLog | None = None
    ) -> None:
        """Tell observers how the work goes, as a `node.progress` fact.

        Args:
            used_model: Whether a model was used; not told is not known, which is not "no".
            payload: Anything; seen only by observers that accept content.
            subs: The sub log of this visit, as made by `ctx.sub_log()`.

        Raises:
            ContractError: `subs` is something else, or belongs to another visit; or this was called from a thread.
        """
        self.check_thread("report")
        content: dict[str, Any] = {}
        if payload is not None:
            content["payload"] = payload
        if subs is not None:
            if not isinstance(subs, SubLog) or subs.ctx is not self:
                raise ContractError(
                    f"node {self.node_id!r}: report takes the sub log that ctx.sub_log() made in this visit, not {subs!r}"
                )
            content["subs"] = subs.read_all()
        emit(self, "node.progress", data={"used_model": used_model}, content=content or None)

    def sub_log(self) -> SubLog:
        """A new log of plans and their results, for this visit."""
        return SubLog(self)

    async def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Call `function` once for this visit and `key`: a retry gets what the first call gave.

        Args:
            key: Names the effect within the visit.
            function: Plain or async, without arguments.
        """

        async def perform() -> Any:
            value = function()
            return await value if inspect.isawaitable(value) else value

        return await effect(self, "once", self.effect_key(key), None, perform)

    async def suspend(
        self,
        key: str,
        payload: Any = None,
        *,
        schema: Any = None,
        timeout: float | None = None,
        default: Any = None,
    ) -> Any:
        """Wait for an answer from outside: the run is suspended, and this visit is made again when the answer is there.

        What the visit has done through `once`, models and tools is not done again; other code before this call is.

        Args:
            key: Names the request within the visit.
            payload: What whoever answers is to see.
            schema: What the answer must be: a type, or a JSON Schema.
            timeout: Seconds after which the run goes on without an answer, from when it is asked; default: never.
            default: What this call returns then.

        Returns:
            The answer, as the type if `schema` is one.

        Raises:
            ContractError: The run has no store, or the payload cannot be stored.
        """
        self.check_open()
        request = request_of(self, key, payload, schema)
        journal = self.frame.run.journal
        assert journal is not None
        refused: ContractError | None = None
        if request.id in journal.answers:
            try:
                return answer_of(request, schema, journal.answers[request.id])
            except ContractError as error:
                # The validators of a type are code; the schema did not tell whoever answered what they say.
                refused = error
        due = journal.asked.get(request.id)
        if timeout is not None and due is None:
            # Only now: a time that ran out while the process was gone would answer a question that nobody was ever asked.
            due = self.frame.run.clock.now() + timedelta(seconds=timeout)
        if due is None or self.frame.run.clock.now() < due:
            self._suspend((replace(request, due=due),), due, refused=refused)
        return default

    async def wait(self, seconds: float, *, key: str | None = None) -> None:
        """Wait for some seconds from now on; a retry or a restart of this visit goes on with the same wait.

        Args:
            seconds: For how long.
            key: Names the wait within the visit; default: by its place among the waits of this task.

        Raises:
            ContractError: Several tasks of the visit wait without a key.
        """
        if key is None:
            if self._waits is None:
                self._waits = Waits()
            name = self._waits.name(self)
        else:
            name = f"wait:{key}"
        await self.wait_until(await due_in(self, name, seconds))

    async def wait_until(self, due: datetime) -> None:
        """Wait for a time, in a durable run also through restarts, and for a long time without being held in memory.

        Args:
            due: The time, with a time zone.

        Raises:
            ContractError: The time has no zone.
        """
        self.check_open()
        if due.tzinfo is None:
            raise ContractError(
                f"node {self.node_id!r} waits until {due!r}: give the time a zone, such as datetime.UTC"
            )
        clock = self.frame.run.clock
        left = (due - clock.now()).total_seconds()
        if left > _LONG and self.frame.run.journal is not None:
            self._suspend((), due)
        if left > 0:
            await clock.sleep(left)

    def _suspend(
        self,
        requests: tuple[Request, ...],
        due: datetime | None = None,
        *,
        refused: ContractError | None = None,
    ) -> NoReturn:
        journal = self.frame.run.journal
        assert journal is not None
        journal.wait_at(self.place, self.record)
        raise Suspend(requests, due, refused)

    def bail(self, value: Any) -> NoReturn:
        """End the run, and everything above and beside this node, with `value` as its result."""
        raise Bail(value)

    def check_open(self) -> None:
        """Raise `RunCancelled` if the run is cancelled or this visit is over: what comes late does not count."""
        if self.signal.fired:
            raise RunCancelled(self.signal.reason)
        if self.over:
            raise RunCancelled(f"the visit of node {self.node_id!r} is over")

    def end(self) -> None:
        """End the attempt; for the kernel."""
        self.over = True
        # They lead back here, and what is over is to be freed without the collector.
        self._models = self._tools = None

    def derive_signal(self) -> CancelSignal:
        """Give this attempt a signal of its own, which ends it and whatever is below it; for the kernel."""
        self._signal = self.frame.signal.derive()
        return self._signal

    def check_thread(self, name: str) -> None:
        """Raise `ContractError` outside of the loop's thread, where `ctx.sync` has the call `name`."""
        # A context for tests has no loop behind it, and so no thread that is not the loop's.
        if self.frame.run.thread not in (None, threading.get_ident()):
            raise ContractError(
                f"node {self.node_id!r}: ctx.{name} was called from a worker thread; call ctx.sync.{name} there"
            )

    def __repr__(self) -> str:
        return f"<NodeContext node {self.node_id!r} visit {self.visit} of run {self.run_id}>"
