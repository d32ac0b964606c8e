"""Bounds: how far a run can go at most, proved from the definition alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentflow.graph.calling import takes_context
from agentflow.graph.kinds import MapEach

if TYPE_CHECKING:
    from agentflow.graph.kinds import Kind
    from agentflow.graph.node import Node
    from agentflow.graph.workflow import Workflow

__all__ = ["Bound", "Bounds", "bounds_of"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A largest number, or `None` for unbounded, with the reason."""

    value: int | None
    reason: str = ""

    @property
    def bounded(self) -> bool:
        """Whether there is a largest number."""
        return self.value is not None

    def __str__(self) -> str:
        return str(self.value) if self.value is not None else f"unbounded, because {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The worst case of one run.

    Args:
        rounds_of_workflow: Rounds of the workflow itself.
        rounds: Rounds of the whole run, sub-workflows included, as `Budget.rounds` counts them.
        visits: Visits of the whole run, sub-workflows included, as `Budget.visits` counts them.
        node_visits: Visits of each node of the workflow itself.
        model_calls: Model calls of the whole run, attempts included.
        tool_calls: Tool calls of the whole run, attempts included.
        exact: Whether some run really comes to these numbers, as far as nodes keep to what they declare; else they
            are only never too small.
    """

    rounds_of_workflow: int
    rounds: Bound
    visits: Bound
    node_visits: Mapping[str, int]
    model_calls: Bound
    tool_calls: Bound
    exact: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The bounds as JSON data; `null` for unbounded, with the reasons beside."""
        named = {
            "rounds": self.rounds,
            "visits": self.visits,
            "model_calls": self.model_calls,
            "tool_calls": self.tool_calls,
        }
        return {
            **{name: bound.value for name, bound in named.items()},
            "unbounded": {name: bound.reason for name, bound in named.items() if not bound.bounded},
            "node_visits": dict(self.node_visits),
            "exact": self.exact,
        }

    def as_text(self) -> str:
        """The bounds as lines for a reader."""
        lines = [
            f"rounds       {self.rounds}",
            f"visits       {self.visits}",
            f"model calls  {self.model_calls}",
            f"tool calls   {self.tool_calls}",
        ]
        lines += [f"  {id}: {count} visits" for id, count in self.node_visits.items()]
        if not self.exact:
            lines.append("(too many paths to tell apart: the numbers may be larger than any run's)")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one visit of a node may add to the counts of the run; `None` for no limit, with the reason."""

    rounds: int | None = 0
    visits: int | None = 1
    model_calls: int | None = 0
    tool_calls: int | None = 0
    reason: str = ""


def cost_of(node: Node) -> Cost:
    """The cost of one visit, attempts included."""
    cost = Cost() if node.kind is None else _cost_below(node, node.kind)
    if node.uses is not None:
        return replace(
            cost,
            model_calls=_smaller(node, cost.model_calls, node.uses.model_calls),
            tool_calls=_smaller(node, cost.tool_calls, node.uses.tool_calls),
            reason=cost.reason or f"node {node.id!r} says that it may make any number",
        )
    if node.run is not None and takes_context(node.run):
        reason = f"node {node.id!r} is given ctx and does not declare uses=Uses(…)"
        return Cost(model_calls=None, tool_calls=None, reason=reason)
    return cost


def _smaller(node: Node, below: int | None, stated: int | None) -> int | None:
    if node.kind is None:
        return stated
    known = [amount for amount in (below, stated) if amount is not None]
    return min(known, default=None)


def _cost_below(node: Node, kind: Kind) -> Cost:
    """The cost of the branches that a node holds, all of them, once for each item and for each attempt."""
    attempts = 1 if node.retry is None else node.retry.attempts
    runs: int | None = attempts
    endless = ""
    if isinstance(kind, MapEach):
        runs = None if kind.max_items is None else kind.max_items * attempts
        endless = f"node {node.id!r} works on any number of items; give it max_items="
    inner = [bounds_of(branch.workflow) for branch in kind.branches]

    def total(name: str) -> int | None:
        values = [getattr(bounds, name).value for bounds in inner]
        once = None if None in values else sum(values)
        if once == 0:
            return 0
        return None if once is None or runs is None else once * runs

    visits = total("visits")
    below = next(
        (
            bounds.model_calls.reason or bounds.tool_calls.reason
            for bounds in inner
            if bounds.model_calls.reason or bounds.tool_calls.reason
        ),
        "",
    )
    reason = f"of the sub-workflow in node {node.id!r}: {below}" if below else endless
    return Cost(
        total("rounds"),
        None if visits is None else visits + 1,
        total("model_calls"),
        total("tool_calls"),
        reason,
    )


def bounds_of(workflow: Workflow[Any]) -> Bounds:
    """The bounds of a workflow whose definition is sound; worked out once for each."""
    return workflow.bounds()
