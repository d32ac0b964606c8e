"""Counting: the worst case of everything a run counts, by trying every path, and inside of nodes every order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from agentflow import Node, Workflow
from tests.proofs.interleaving import Held, Interleaving, Move
from tests.proofs.visits import Situation

__all__ = ["Counting", "Counts", "worst_of"]

Counts = dict[str, int]
"""The largest numbers, each for itself: `rounds`, `visits`, `model_calls`, `tool_calls`, and `visits of` each node.

Of a node inside of another it is `visits of` its path, as `a[x]/p`.
"""
Costs = dict[str, Counts]
"""The largest numbers by what comes of it: `ended`, `failed`, `gone`; what does not happen is left out."""


@dataclass(eq=False)
class Counting:
    """Counts along every path of a workflow, and along those of what its nodes hold.

    Args:
        workflow: The workflow.
        items: How many items there may be where a node does not say.
        counted: Whether everything counts, or only what such items do.
    """

    workflow: Workflow[Any]
    items: int = 2
    counted: Literal["all", "endless"] = "all"
    _most: dict[tuple[Situation, int], Counts] = field(default_factory=dict)
    _held: dict[tuple[str, Held], Costs] = field(default_factory=dict)
    _costs: dict[str, Costs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.interleaving = Interleaving(self.workflow, items=self.items)
        self.explorer = self.interleaving.explorer(())

    def worst(self) -> Counts:
        """The largest numbers of any run, the first round counted."""
        for left in range(self.explorer.rounds):
            # Rounds from the last to the first, so that no call goes deeper than one round.
            for here in self.explorer.situations:
                self._from(here, left)
        starts = [self._from(start, self.explorer.rounds - 1) for start in self.explorer.starts()]
        return _larger([_sum({"rounds": 1, "own rounds": 1}, counts) for counts in starts])

    def own_rounds(self) -> int:
        """The largest number of rounds of the workflow itself, without its sub-workflows."""
        return self.worst()["own rounds"]

    def _from(self, here: Situation, left: int) -> Counts:
        """The largest numbers from a situation on, with so many rounds left."""
        key = here, left
        if key not in self._most:
            costs = self._cost(self.explorer.nodes[here.node])
            found = list(costs.values())
            for way in self.explorer.visit(here).ways:
                own = costs.get("failed" if way.kind == "error" else "ended")
                if way.target is None or own is None:
                    continue
                if not way.opens:
                    found.append(_sum(own, self._from(way.target, left)))
                elif left > 0 and not here.limited:
                    opened = _sum({"rounds": 1, "own rounds": 1}, own)
                    found.append(_sum(opened, self._from(way.target, left - 1)))
                elif way.limit is not None:
                    found.append(_sum(own, self._from(way.limit, left)))
            self._most[key] = _larger(found)
        return self._most[key]

    def _cost(self, node: Node) -> Costs:
        """What one visit of a node counts."""
        if node.id not in self._costs:
            held = self.interleaving.begin(node)
            own = (
                _sum(_entering(node), {f"visits of {node.id}": 1}) if self.counted == "all" else {}
            )
            inside = {"ended": {}, "failed": {}} if held is None else self._inside(node, held)
            self._costs[node.id] = {name: _sum(own, counts) for name, counts in inside.items()}
        return self._costs[node.id]

    def _inside(self, node: Node, held: Held) -> Costs:
        """What is counted from here on in what a node holds."""
        key = node.id, held
        if key not in self._held:
            found: dict[str, list[Counts]] = {}
            for move in self.interleaving.moves_inside((), node, held):
                own = self._counted(move)
                if isinstance(move.then, Held):
                    for result, counts in self._inside(node, move.then).items():
                        found.setdefault(result, []).append(_sum(own, counts))
                else:
                    assert isinstance(move.then, str)
                    found.setdefault(move.then, []).append(own)
            self._held[key] = {result: _larger(counts) for result, counts in found.items()}
        return self._held[key]

    def _counted(self, move: Move) -> Counts:
        path = move.at if move.entered is None else move.entered[0]
        if self.counted == "endless" and not self.interleaving.is_endless(path):
            return {}
        if move.entered is None:
            return {"rounds": move.opens}
        path, place = move.entered
        node = self.interleaving.node(path, place)
        own = {"rounds": move.opens, f"visits of {'/'.join((*path, node.id))}": 1}
        return _sum(own, _entering(node))


def worst_of(workflow: Workflow[Any]) -> dict[str, int | None]:
    """The largest numbers of any run; `None` for what grows with the number of items without end."""
    worst: dict[str, int | None] = {**Counting(workflow, items=_MANY).worst()}
    if not _is_endless(workflow):
        return worst
    # Of the items alone: else what grows could be less, with so few of them, than what another path counts.
    few, more = (
        Counting(workflow, items=items, counted="endless").worst() for items in (_MANY, _MANY + 1)
    )
    return {name: None if more.get(name) != few.get(name) else worst[name] for name in worst}


_MANY = 3
"""More items than any node of the graphs works on at the same time."""


def _is_endless(workflow: Workflow[Any]) -> bool:
    """Whether some node does not say how many items there may be."""
    return any(
        getattr(node.kind, "max_items", 0) is None
        or any(_is_endless(branch.workflow) for branch in node.branches)
        for node in workflow.nodes
    )


def _entering(node: Node) -> Counts:
    """What a visit of a node counts by itself; a node that holds workflows spends nothing else."""
    counts = {"visits": 1}
    if node.kind is None and node.uses is not None:
        counts |= {
            "model_calls": node.uses.model_calls or 0,
            "tool_calls": node.uses.tool_calls or 0,
        }
    return counts


def _sum(one: Counts, other: Counts) -> Counts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def _larger(many: Iterable[Counts]) -> Counts:
    found: Counts = {}
    for counts in many:
        for name, count in counts.items():
            found[name] = max(count, found.get(name, 0))
    return found
