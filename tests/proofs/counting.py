"""Counting: the worst case of everything a run counts, by trying every path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentflow import Node, Workflow
from tests.proofs.explorer import Explorer
from tests.proofs.visits import Situation

__all__ = ["Counting", "Counts"]

Counts = dict[str, int]
"""The largest numbers, each for itself: `rounds`, `visits`, `model_calls`, `tool_calls`, and `visits of` each node."""


@dataclass(eq=False)
class Counting:
    """Counts along every path of a workflow, and along those of its sub-workflows."""

    workflow: Workflow[Any]
    _most: dict[tuple[Situation, int], Counts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.explorer = Explorer(self.workflow)
        self._costs = {node.id: _cost(node) for node in self.workflow.nodes}

    def worst(self) -> Counts:
        """The largest numbers of any run, the first round counted."""
        for left in range(self.explorer.rounds):
            # Rounds from the last to the first, so that no call goes deeper than one round.
            for here in self.explorer.situations:
                self._from(here, left)
        starts = [self._from(start, self.explorer.rounds - 1) for start in self.explorer.starts()]
        return _larger([_sum({"rounds": 1}, counts) for counts in starts])

    def own_rounds(self) -> int:
        """The largest number of rounds of the workflow itself, without its sub-workflows."""
        for cost in self._costs.values():
            cost.pop("rounds", None)
        return self.worst()["rounds"]

    def _from(self, here: Situation, left: int) -> Counts:
        """The largest numbers from a situation on, with so many rounds left."""
        key = here, left
        if key not in self._most:
            onward: list[Counts] = [{}]
            for way in self.explorer.visit(here).ways:
                if way.target is None:
                    continue
                if not way.opens:
                    onward.append(self._from(way.target, left))
                elif left > 0 and not here.limited:
                    onward.append(_sum({"rounds": 1}, self._from(way.target, left - 1)))
                elif way.limit is not None:
                    onward.append(self._from(way.limit, left))
            self._most[key] = _sum(self._costs[here.node], _larger(onward))
        return self._most[key]


def _cost(node: Node) -> Counts:
    """What one visit of a node counts."""
    cost = {"visits": 1, f"visits of {node.id}": 1}
    if node.kind is not None:
        # An attempt may go the longest way and fail at its end.
        attempts = 1 if node.retry is None else node.retry.attempts
        inner = Counting(node.kind.workflow).worst()
        for name in ("rounds", "visits", "model_calls", "tool_calls"):
            cost[name] = cost.get(name, 0) + inner.get(name, 0) * attempts
    elif node.uses is not None:
        cost |= {
            "model_calls": node.uses.model_calls or 0,
            "tool_calls": node.uses.tool_calls or 0,
        }
    return cost


def _sum(one: Counts, other: Counts) -> Counts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def _larger(many: list[Counts]) -> Counts:
    names = {name for counts in many for name in counts}
    return {name: max(counts.get(name, 0) for counts in many) for name in names}
