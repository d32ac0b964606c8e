"""A frame: one execution of one workflow on one state, visit after visit. The only scheduler of visits.

The order of a visit is fixed: cancel, round, `requires`, body, cancel, validation, route, commit, then the target or the
result. Every decision is made in `decide`; here things are awaited, counted and told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import BudgetExceeded, RunCancelled
from agentflow.graph.frozen import write
from agentflow.graph.reducer import append
from agentflow.run import decide
from agentflow.run.attempts import attempt_until_done
from agentflow.run.beginning import first_state_of, missed
from agentflow.run.context import NodeContext
from agentflow.run.decide import Failure
from agentflow.run.facts import limit_data
from agentflow.run.first_state import first_state
from agentflow.run.redo import (
    go_on_from,
    record_commit,
    record_failure,
    redo,
)

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.graph.plan import Plan, PlanNode, PlanRoute
    from agentflow.run.ledger import Ledger
    from agentflow.run.run import Run
    from agentflow.run.signal import CancelSignal
    from agentflow.run.visit_record import VisitRecord

__all__ = ["Frame"]


class Frame:
    """One execution of one workflow, below a `Run`.

    Attributes:
        id: The run id; for a sub-workflow one below it.
        above: The visit that a sub-workflow belongs to.
        added: What was added to the fields that go on from surrounding ones, where somebody wants to know.
        depth: 1 for the run itself, one more for each level of sub-workflows.
        round: The round that is open, from 1; 0 before the start.
        opened: How many rounds were opened since the last entry in the journal.
        record: What the visit under way has done and spent, if anything.
        task: The task that makes its visits, in a durable run.
        counts: How often each node has been visited, by its index.
        visiting: The attempt that is under way, or was last, until the frame ends; known only while somebody listens, or
            where it takes more than one await.
    """

    __slots__ = (
        "_past",
        "_recorded",
        "_written",
        "above",
        "added",
        "counts",
        "depth",
        "errors_handled",
        "id",
        "ledger",
        "limit_handled",
        "opened",
        "parent_id",
        "plan",
        "record",
        "round",
        "run",
        "signal",
        "state",
        "task",
        "visiting",
    )

    def __init__(
        self,
        run: Run[Any],
        plan: Plan,
        *,
        id: str,
        signal: CancelSignal,
        above: NodeContext | None = None,
    ) -> None:
        self.run = run
        self.plan = plan
        self.id = id
        self.above = above
        self.parent_id = None if above is None else above.frame.id
        self.depth: int = 1 if above is None else above.frame.depth + 1
        self.ledger: Ledger = run.ledger if above is None else above.frame.ledger
        self.signal = signal
        self.state: State = plan.state_class()
        self.round = 0
        self.opened = 0
        self.record: VisitRecord | None = None
        self.task: int | None = None
        self.visiting: NodeContext | None = None
        self.counts = [0] * len(plan.nodes)
        self.errors_handled: frozenset[int] = frozenset()
        self.limit_handled = False
        self.added: dict[str, list[Any]] | None = None
        self._past: deque[dict[str, Any]] | None = None
        self._recorded = self._written = 0

    @property
    def path(self) -> str:
        """Where the frame stands below its run; empty for the run itself."""
        return self.id[len(self.run.id) :]

    def below(self, ctx: NodeContext, plan: Plan, *, id: str, signal: CancelSignal) -> Frame:
        """A frame for a workflow inside of one of its visits."""
        return Frame(self.run, plan, id=id, signal=signal, above=ctx)

    def place(self, node: PlanNode, visit: int) -> str:
        """Where a visit of it stands below its run."""
        return f"{self.path}/{node.id}#{visit}"

    async def execute(self, input: Mapping[str, Any] | None) -> Any:
        """Run the workflow from its entry to an end, and return the checked result."""
        self.signal.raise_if_cancelled()
        journal = self.run.journal
        began = journal is not None and journal.began(self.path)
        if journal is None:
            self.state = first_state(self.plan, input)
        else:
            self.task = anyio.get_current_task().id
            self.state = await first_state_of(journal, self, input, began=began)
            self._past = journal.visits_of(self.path)
            self._recorded = len(self._past or ())
        resumed = journal is not None and journal.resumed and self.above is None
        if self.run.bus is not None and not (began or resumed):
            parent_node = None if self.above is None else self.above.node_id
            data = {"inputs": sorted(self.state), "parent_node": parent_node}
            self._emit("run.started", data=data)
        try:
            node = self.plan.entry
            snapshot = None if journal is None or self.above is not None else journal.snapshot
            if not self._past and snapshot is None:
                self._spend_round(node)
            self.round = 1
            if not began:
                self._emit("round.started")
            if snapshot is not None:
                node = go_on_from(self, snapshot)
            self._written = sum(self.counts) + self._recorded
            value = await self._visits(node)
        except BaseException as error:
            self._ended_badly(error)
            raise
        finally:
            # It leads back here, and what is over is to be freed without the collector.
            self.visiting = None
        if self.parent_id is not None and not self.redone:
            self._emit("run.completed", content=value)
        return value

    @property
    def redone(self) -> bool:
        """Whether the frame has only gone through what was recorded, so that everything about it was told before."""
        return bool(self._recorded) and sum(self.counts) <= self._recorded

    def join(self, node: PlanNode, values: dict[str, Any]) -> dict[str, Any]:
        """The new values of an update's fields; what is added to those that go on from surrounding ones is kept."""
        if self.added is not None:
            for name in self.added.keys() & values.keys():
                several = node.kind is not None and node.writes[name].reducer is not append
                self.added[name] += values[name] if several else [values[name]]
        return decide.join(node, self.state, values)

    async def _visits(self, node: PlanNode) -> Any:  # noqa: C901 - the one hot loop; every call it spares is paid for at every visit
        run, signal, ledger = self.run, self.signal, self.ledger
        counts, state = self.counts, self.state
        listening, journal, past = run.bus is not None, run.journal, self._past
        failure: Failure | None = None
        while True:
            if signal.fired:
                raise RunCancelled(signal.reason)
            if monotonic() >= run.pause_at:
                await run.pause()
            if node.starts_round and counts[node.index]:
                handler = self._open_round(node)
                if handler is not None:
                    node, failure = handler, None
            counts[node.index] = visit = counts[node.index] + 1
            if past:
                route, failure = redo(self, node, past.popleft())
                if failure is not None:
                    node = self._to_handler(node)
                    continue
            else:
                if journal is not None:
                    journal.entering(self, node, visit)
                ledger.enter_visit()
                for name in node.requires:
                    if name not in state:
                        raise missed(self, node, name)
                try:
                    if not node.plain or listening:
                        update = await attempt_until_done(self, node, visit, failure)
                    elif node.takes_context:
                        ctx = NodeContext(self, node, visit, 1, failure)
                        try:
                            update = await node.function(state, ctx)
                        finally:
                            ctx.end()
                    else:
                        update = await node.function(state)
                except Exception as error:
                    handler, failure = self._failed(node, visit, error, failure)
                    if journal is not None:
                        await record_failure(journal, self, node, visit, failure)
                    self._tell_failed(node, visit, failure, handler)
                    node = handler
                    continue
                if signal.fired:
                    raise RunCancelled(signal.reason)
                failure = None
                values = decide.fresh_values(node, update)
                if journal is None:
                    write(state, self.join(node, values) if node.reducing else values)
                    route = node.always or decide.choose_route(node, state)
                else:
                    route = await record_commit(journal, self, node, visit, values)
                if listening:
                    tell = partial(self._committed, node, visit, values, route)
                    tell() if journal is None else journal.when_written(tell)
            if route.target is None:
                return self._result(node, route)
            node = route.target

    def _result(self, node: PlanNode, route: PlanRoute) -> Any:
        value = decide.final_value(self.plan, node, route, self.state)
        if self.signal.fired:
            raise RunCancelled(self.signal.reason)
        return value

    def take_spent(self) -> dict[str, float]:
        """What was spent since the last entry, the visits themselves included, for the entry that is written next."""
        visits = sum(self.counts) - self._written
        self._written += visits
        opened, self.opened = self.opened, 0
        record, self.record = self.record, None
        spent = {} if record is None else record.take_loose()
        for limit, amount in (("visits", visits), ("rounds", opened)):
            if amount:
                spent[limit] = spent.get(limit, 0) + amount
        return spent

    def _to_handler(self, node: PlanNode) -> PlanNode:
        assert node.on_error is not None
        self.errors_handled |= {node.on_error.index}
        return node.on_error

    def _open_round(self, node: PlanNode) -> PlanNode | None:
        """Open the next round; or return the node to visit instead, `on_limit`, when the workflow's rounds are out.

        The rounds of a budget are a hard limit of the run: where `on_limit` is entered is decided by the definition alone, so
        that it can be proved that the node finds what it needs.
        """
        allowed = self.plan.max_rounds
        if self.round >= allowed:
            where = f"workflow {self.plan.workflow.id!r}"
            error = BudgetExceeded("rounds", allowed, self.round + 1, where=where)
            handler = None if self.limit_handled else self.plan.on_limit
            self._limit_reached(error, node, handler)
            if handler is None:
                try:
                    raise error
                finally:
                    del error  # This frame stands in its traceback.
            self.limit_handled = True
            return handler
        if not self._past:
            self._spend_round(node)
        self.round += 1
        self.errors_handled = frozenset()
        if self.run.bus is not None:
            journal = self.run.journal
            if journal is None or not journal.began(self.place(node, self.counts[node.index] + 1)):
                self._emit("round.started")
        return None

    def _spend_round(self, node: PlanNode) -> None:
        try:
            self.ledger.enter_round()
        except BudgetExceeded as error:
            self._limit_reached(error, node)
            raise
        self.opened += 1

    def _limit_reached(
        self, error: BudgetExceeded, node: PlanNode | None, handler: PlanNode | None = None
    ) -> None:
        data = limit_data(error, None if handler is None else handler.id)
        self._emit("limit.reached", node, data=data)

    def _failed(
        self, node: PlanNode, visit: int, raised: Exception, failure: Failure | None
    ) -> tuple[PlanNode, Failure]:
        """Where to go after a node failed: its error node, with what happened.

        Raises:
            Exception: The failure itself, with a note, when no error node may take it.
        """
        error = decide.unwrapped(raised)
        if self.signal.fired:
            raise RunCancelled(self.signal.reason) from error
        handler = decide.handler_of(node, error, failure, self.errors_handled)
        told = Failure(type(error).__name__, decide.told(error), node.id)
        if handler is None:
            # What became of the journal is no failure of the node.
            if not isinstance(error, decide.STOPPED):
                self._tell_failed(node, visit, told, None)
            place = f"in node {node.id!r} of workflow {self.plan.workflow.id!r}, run {self.id}"
            if failure is not None:
                place += (
                    f", entered for {failure.type}: {failure.message} in node {failure.node_id!r}"
                )
            decide.noted(error, place)
            try:
                raise error
            finally:
                del error, raised  # This frame stands in their traceback.
        self.errors_handled |= {handler.index}
        return handler, told

    def _tell_failed(
        self, node: PlanNode, visit: int, failure: Failure, handler: PlanNode | None
    ) -> None:
        data = {
            "error": failure.type,
            "message": failure.message,
            "handler": None if handler is None else handler.id,
        }
        self._emit("node.failed", node, visit, data=data)

    def _ended_badly(self, raised: BaseException) -> None:
        error = decide.unwrapped(raised)
        if isinstance(error, BudgetExceeded) and error.limit == "visits" and not error.told:
            error.told = True
            self._limit_reached(error, None)
        # The run tells its own end; a sub-workflow's is told here.
        if self.parent_id is None:
            return
        if isinstance(error, decide.Suspend):
            waits = {"requests": [request.id for request in error.requests]}
            self._emit("run.suspended", data=waits)
        elif isinstance(error, decide.Bail):
            self._emit("run.completed", data={"bailed": True}, content=error.value)
        elif self.signal.fired or not isinstance(error, Exception):
            reason = self.signal.reason
            told = None if reason is None else decide.told(reason)
            self._emit("run.cancelled", data={"reason": told})
        else:
            data = {"error": type(error).__name__, "message": decide.told(error)}
            self._emit("run.failed", data=data)

    def _committed(
        self, node: PlanNode, visit: int, values: dict[str, Any], route: PlanRoute
    ) -> None:
        fields = {"fields": sorted(values)}
        if node.private:
            values = {name: values[name] for name in values if name not in node.private}
        self._emit("node.committed", node, visit, data=fields, content=values)
        data = {
            "index": route.index,
            "route": route.route.kind,
            "target": None if route.target is None else route.target.id,
        }
        self._emit("route.taken", node, visit, data=data)

    def _emit(
        self,
        kind: str,
        node: PlanNode | None = None,
        visit: int | None = None,
        *,
        data: dict[str, Any] | None = None,
        content: Any = None,
    ) -> None:
        bus = self.run.bus
        # What is gone through again from the journal was told when it happened.
        if bus is not None and not self._past:
            node_id = None if node is None else node.id
            bus.emit(kind, self, data=data, content=content, node_id=node_id, visit=visit)
