"""A frame: one execution of one workflow on one state, visit after visit. The only scheduler of visits.

The order of a visit is fixed: cancel, round, `requires`, body, cancel, validation, route, commit, then the target or the
result. Every decision is made in `decide`; here things are awaited, counted and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from agentflow.errors import BudgetExceeded, RunCancelled
from agentflow.graph.frozen import write
from agentflow.run import decide
from agentflow.run.attempts import attempt_until_done
from agentflow.run.context import NodeContext
from agentflow.run.decide import Failure
from agentflow.run.facts import limit_data

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.graph.plan import Plan, PlanNode, PlanRoute
    from agentflow.run.ledger import Ledger
    from agentflow.run.run import Run
    from agentflow.run.signal import CancelSignal

__all__ = ["Frame"]


class Frame:
    """One execution of one workflow, below a `Run`.

    Attributes:
        id: The run id; for a sub-workflow one below it.
        above: The visit that a sub-workflow belongs to.
        depth: 1 for the run itself, one more for each level of sub-workflows.
        round: The round that is open, from 1; 0 before the start.
        counts: How often each node has been visited, by its index.
        visiting: The attempt that is under way, or was last; known only while somebody listens, or where it takes more
            than one await.
    """

    __slots__ = (
        "_errors_handled",
        "_limit_handled",
        "above",
        "counts",
        "depth",
        "id",
        "ledger",
        "parent_id",
        "plan",
        "round",
        "run",
        "signal",
        "state",
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
        self.visiting: NodeContext | None = None
        self.counts = [0] * len(plan.nodes)
        self._errors_handled: set[int] = set()
        self._limit_handled = False

    async def execute(self, input: Mapping[str, Any] | None) -> Any:
        """Run the workflow from its entry to an end, and return the checked result."""
        self.signal.raise_if_cancelled()
        self.state = decide.first_state(self.plan, input)
        if self.run.bus is not None:
            parent_node = None if self.above is None else self.above.node_id
            data = {"inputs": sorted(self.state), "parent_node": parent_node}
            self._emit("run.started", data=data)
        try:
            self._open_first_round()
            value = await self._visits()
        except BaseException as error:
            self._ended_badly(error)
            raise
        if self.parent_id is not None:
            self._emit("run.completed", content=value)
        return value

    def _open_first_round(self) -> None:
        self._spend_round(self.plan.entry)
        self.round = 1
        self._emit("round.started")

    async def _visits(self) -> Any:  # noqa: C901 - the one hot loop; every call it spares is paid for at every visit
        run, signal, ledger, counts, state = (
            self.run,
            self.signal,
            self.ledger,
            self.counts,
            self.state,
        )
        listening = run.bus is not None
        node: PlanNode = self.plan.entry
        failure: Failure | None = None
        while True:
            if signal.fired:
                raise RunCancelled(signal.reason)
            if monotonic() >= run.pause_at:
                await run.pause()
            if node.starts_round and counts[node.index]:
                entered = self._open_round(node)
                if entered is not node:
                    node, failure = entered, None
            ledger.enter_visit()
            for name in node.requires:
                if name not in state:
                    raise decide.missing(node, name)
            counts[node.index] = visit = counts[node.index] + 1
            try:
                if not node.plain or listening:
                    update = await attempt_until_done(self, node, visit, failure)
                elif node.takes_context:
                    ctx = NodeContext(self, node, visit, 1, failure)
                    try:
                        update = await node.function(state, ctx)
                    finally:
                        ctx.over = True
                else:
                    update = await node.function(state)
            except Exception as error:
                node, failure = self._failed(node, visit, error, failure)
                continue
            if signal.fired:
                raise RunCancelled(signal.reason)
            failure = None
            values = decide.fresh_values(node, update)
            write(state, decide.join(node, state, values) if node.reducing else values)
            if listening:
                self._emit(
                    "node.committed", node, visit, data={"fields": sorted(values)}, content=values
                )
            route = node.always or decide.choose_route(node, state)
            if listening:
                self._route_taken(node, visit, route)
            if route.target is None:
                value = decide.final_value(self.plan, node, route, state)
                if signal.fired:
                    raise RunCancelled(signal.reason)
                return value
            node = route.target

    def _open_round(self, node: PlanNode) -> PlanNode:
        """Open the next round and return the node to visit: `node`, or `on_limit` when the workflow's rounds are out.

        The rounds of a budget are a hard limit of the run: where `on_limit` is entered is decided by the definition alone, so
        that it can be proved that the node finds what it needs.
        """
        allowed = self.plan.max_rounds
        if self.round >= allowed:
            where = f"workflow {self.plan.workflow.id!r}"
            error = BudgetExceeded("rounds", allowed, self.round + 1, where=where)
            handler = None if self._limit_handled else self.plan.on_limit
            self._limit_reached(error, node, handler)
            if handler is None:
                raise error
            self._limit_handled = True
            return handler
        self._spend_round(node)
        self.round += 1
        self._errors_handled.clear()
        self._emit("round.started")
        return node

    def _spend_round(self, node: PlanNode) -> None:
        try:
            self.ledger.enter_round()
        except BudgetExceeded as error:
            self._limit_reached(error, node)
            raise

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
        handler = node.on_error
        # An error node is entered once a round at most, and its own failure is the caller's.
        if (
            isinstance(error, decide.UNRECOVERABLE)
            or failure is not None
            or handler is None
            or handler.index in self._errors_handled
        ):
            handler = None
        told = Failure(type(error).__name__, decide.told(error), node.id)
        data = {
            "error": told.type,
            "message": told.message,
            "handler": None if handler is None else handler.id,
        }
        self._emit("node.failed", node, visit, data=data)
        if handler is None:
            place = f"in node {node.id!r} of workflow {self.plan.workflow.id!r}, run {self.id}"
            if failure is not None:
                place += (
                    f", entered for {failure.type}: {failure.message} in node {failure.node_id!r}"
                )
            decide.noted(error, place)
            raise error
        self._errors_handled.add(handler.index)
        return handler, told

    def _ended_badly(self, raised: BaseException) -> None:
        error = decide.unwrapped(raised)
        if isinstance(error, BudgetExceeded) and error.limit == "visits" and not error.told:
            error.told = True
            self._limit_reached(error, None)
        # The run tells its own end; a sub-workflow's is told here.
        if self.parent_id is None:
            return
        if isinstance(error, decide.Bail):
            self._emit("run.completed", data={"bailed": True}, content=error.value)
        elif self.signal.fired or not isinstance(error, Exception):
            reason = self.signal.reason
            told = None if reason is None else decide.told(reason)
            self._emit("run.cancelled", data={"reason": told})
        else:
            data = {"error": type(error).__name__, "message": decide.told(error)}
            self._emit("run.failed", data=data)

    def _route_taken(self, node: PlanNode, visit: int, route: PlanRoute) -> None:
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
        if bus is not None:
            node_id = None if node is None else node.id
            bus.emit(kind, self, data=data, content=content, node_id=node_id, visit=visit)
