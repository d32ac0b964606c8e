"""Costs: what one visit of a node may add to the counts of a run, with everything that it holds.

What a node holds may go further than it can when it ends well: a branch that fails has gone its longest way, and so have the
siblings that are cancelled with it. So each count has two bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from agentflow.graph.bounds import COUNTS, Bound
from agentflow.graph.calling import takes_context
from agentflow.graph.kinds import MapEach, Parallel, Race, Subflow

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch, Kind
    from agentflow.graph.node import Node

__all__ = ["Cost", "cost_of"]

_CALLS = ("model_calls", "tool_calls")


@dataclass(frozen=True, slots=True)
class _Amount:
    """One count: the most in any case, and the most if it ends well."""

    most: Bound
    well: Bound

    def map(self, change: Callable[[Bound], Bound]) -> _Amount:
        return _Amount(change(self.most), change(self.well))


@dataclass(frozen=True, slots=True)
class Cost:
    """What one visit of a node may add to the counts of the run, attempts included.

    Args:
        most: By count, the most in any case.
        well: By count, the most of a visit that ends with an update, so that a route is taken.
        exact: Whether some visit comes to these numbers, as far as nodes keep to what they declare.
    """

    most: Mapping[str, Bound]
    well: Mapping[str, Bound]
    exact: bool = True


def cost_of(node: Node) -> Cost:
    """The cost of one visit."""
    if node.kind is None:
        amounts = _own(node)
    else:
        amounts = {name: _below(node, node.kind, name) for name in COUNTS}
    exact = all(branch.workflow.extent.bounds.exact for branch in node.branches)
    if node.kind is not None and node.uses is not None:
        for name in _CALLS:
            below, stated = amounts[name], getattr(node.uses, name)
            if stated is not None and (below.most.value is None or stated < below.most.value):
                # Who runs into the limit fails, and goes no further.
                amounts[name], exact = below.map(lambda bound: _smaller(bound, stated)), False  # noqa: B023 - called at once
    return Cost(
        {name: amount.most for name, amount in amounts.items()},
        {name: amount.well for name, amount in amounts.items()},
        exact,
    )


def _own(node: Node) -> dict[str, _Amount]:
    """What a function may spend: what its node says, or anything if it could and the node does not say."""
    found = dict.fromkeys(_CALLS, Bound(0))
    if node.uses is not None:
        reason = f"node {node.id!r} says that it may make any number"
        stated = {name: getattr(node.uses, name) for name in _CALLS}
        found = {
            name: Bound(amount, "" if amount is not None else reason)
            for name, amount in stated.items()
        }
    elif node.run is not None and takes_context(node.run):
        reason = f"node {node.id!r} is given ctx and does not declare uses=Uses(…)"
        found = dict.fromkeys(_CALLS, Bound(None, reason))
    amounts = {"rounds": Bound(0), "visits": Bound(1), **found}
    return {name: _Amount(bound, bound) for name, bound in amounts.items()}


def _smaller(bound: Bound, stated: int) -> Bound:
    return Bound(stated if bound.value is None else min(bound.value, stated))


def _below(node: Node, kind: Kind, name: str) -> _Amount:
    """One count of a visit of a node that holds workflows; each attempt that is followed by another has failed."""
    once = _once(node, kind, name)
    attempts = 1 if node.retry is None else node.retry.attempts
    own = Bound(int(name == "visits"))
    return _Amount(own + once.most.times(attempts), own + once.most.times(attempts - 1) + once.well)


def _once(node: Node, kind: Kind, name: str) -> _Amount:
    """One count of one attempt."""
    parts = [_of_branch(node, branch, name) for branch in kind.branches]
    every = _sum([part.most for part in parts])
    match kind:
        case Subflow():
            return parts[0]
        case Parallel(_, "collect"):
            return _Amount(every, every)
        case Parallel():
            return _Amount(every, _sum([part.well for part in parts]))
        case Race():
            # The others may have gone as far as they can when the winner ends.
            ends = [
                _sum([part.most for part in (*parts[:at], *parts[at + 1 :])]) + winner.well
                for at, winner in enumerate(parts)
            ]
            return _Amount(every, max(ends, key=_rank))
        case MapEach():
            return _of_items(node, kind, parts[0])


def _of_items(node: Node, kind: MapEach, item: _Amount) -> _Amount:
    """All items. Where a failure cancels, all but those that are under way at the same time have ended well."""
    ended = item.most if kind.on_branch_error == "collect" else item.well
    if kind.max_items is None:
        reason = f"node {node.id!r} works on any number of items; give it max_items="
        endless = Bound(None, ended.reason or reason)
        if ended.value != 0:
            return _Amount(endless, endless)
        return _Amount(item.most.times(kind.concurrency), ended)
    together = min(kind.concurrency, kind.max_items)
    before = ended.times(kind.max_items - together)
    return _Amount(before + item.most.times(together), ended.times(kind.max_items))


def _of_branch(node: Node, branch: Branch, name: str) -> _Amount:
    extent = branch.workflow.extent

    def told(bound: Bound) -> Bound:
        inside = f"of the sub-workflow in node {node.id!r}: {bound.reason}"
        return bound if bound.bounded else Bound(None, inside)

    most: Bound = getattr(extent.bounds, name)
    return _Amount(most, extent.well[name]).map(told)


def _sum(bounds: Sequence[Bound]) -> Bound:
    return reduce(add, bounds, Bound(0))


def _rank(bound: Bound) -> float:
    return float("inf") if bound.value is None else bound.value
