"""Judging: whether a policy holds on every path, by walking every path with the policy in hand.

What a node holds is gone through in every order; a workflow of its own is walked visit by visit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentflow import Node, Workflow
from agentflow.graph.policy import Policy
from tests.proofs.explorer import Place
from tests.proofs.interleaving import Held, Interleaving, Move, Path
from tests.proofs.visits import Situation

__all__ = ["Judge", "Stand"]


class Stand(NamedTuple):
    """A place, and how often what the policy counts has happened on the way to it."""

    place: Place
    seen: int


class Passage(NamedTuple):
    """What may come of a visit: the counts after it succeeded and after it failed, and whether it breaks the policy."""

    after: frozenset[int]
    failed: frozenset[int]
    broken: bool


@dataclass(eq=False)
class Judge:
    """Judges one policy about visits."""

    workflow: Workflow[Any]
    policy: Policy
    _passages: dict[tuple[Situation, int], Passage] = field(default_factory=dict)
    _held: dict[tuple[str, int], Passage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        condition = self.policy.condition
        asked = () if condition is None else (condition,)
        self.interleaving = Interleaving(self.workflow, asked)
        self.explorer = self.interleaving.explorer(())

    @property
    def broken(self) -> bool:
        """Whether some path breaks the policy."""
        return any(self.passage(stand).broken for stand in self._stands())

    def along(self, path: Iterable[str]) -> set[Stand]:
        """Every stand in which a run can be that has visited the nodes of `path`."""
        first, *rest = path
        starts = self.explorer.starts()
        stands = {Stand((start, 1), 0) for start in starts if start.node == first}
        for id in rest:
            onward = (after for stand in stands for after in self.onward(stand))
            stands = {after for after in onward if after.place[0].node == id}
        return stands

    def nearest(self) -> int:
        """How many nodes a shortest path has that breaks the policy; 0 if none does."""
        layer = {Stand((start, 1), 0) for start in self.explorer.starts()}
        seen = set(layer)
        length = 1
        while layer and not any(self.passage(stand).broken for stand in layer):
            layer = {after for stand in layer for after in self.onward(stand)} - seen
            seen |= layer
            length += 1
        return length if layer else 0

    def _stands(self) -> set[Stand]:
        waiting = [Stand((start, 1), 0) for start in self.explorer.starts()]
        seen = set(waiting)
        while waiting:
            for after in self.onward(waiting.pop()):
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return seen

    def onward(self, stand: Stand) -> Iterator[Stand]:
        """Every stand that may come next."""
        passage = self.passage(stand)
        for way, place in self.explorer.onward(stand.place):
            if place is not None:
                counts = passage.failed if way.kind == "error" else passage.after
                yield from (Stand(place, count) for count in counts)

    def passage(self, stand: Stand) -> Passage:
        """What may come of the visit at a stand."""
        (here, _), count = stand
        if (here, count) not in self._passages:
            self._passages[here, count] = self._visited(stand)
        return self._passages[here, count]

    def _visited(self, stand: Stand) -> Passage:
        here, count = stand.place[0], stand.seen
        problems = self.explorer.visit(here).failing
        if any(problem.kind == "requires" for problem in problems):
            return Passage(frozenset(), frozenset(), broken=False)
        node = self.explorer.nodes[here.node]
        broken = self._breaks((), stand.place, count)
        begun = self._entered((), here.node, count)
        inside = self._inside(node, begun)
        after = frozenset(self._left((), here.node, each) for each in inside.after)
        return Passage(after, inside.failed, broken or inside.broken)

    def _inside(self, node: Node, count: int) -> Passage:
        """What may come of all that a node holds, from the beginning of its visit on."""
        first = self.interleaving.begin(node)
        if first is None:
            return Passage(frozenset({count}), frozenset({count}), broken=False)
        key = node.id, count
        if key not in self._held:
            self._held[key] = self._gone_through(node, first, count)
        return self._held[key]

    def _gone_through(self, node: Node, first: Held, count: int) -> Passage:
        results: dict[str, set[int]] = {"ended": set(), "failed": set(), "gone": set()}
        broken = False
        waiting = [(first, count)]
        seen = set(waiting)
        while waiting:
            held, before = waiting.pop()
            for move in self.interleaving.moves_inside((), node, held):
                if move.entered is not None:
                    broken |= self._breaks(*move.entered, before)
                after = self._counted(move, before)
                if not isinstance(move.then, Held):
                    assert isinstance(move.then, str)
                    results[move.then].add(after)
                elif (move.then, after) not in seen:
                    seen.add((move.then, after))
                    waiting.append((move.then, after))
        return Passage(frozenset(results["ended"]), frozenset(results["failed"]), broken)

    def _counted(self, move: Move, count: int) -> int:
        if move.entered is not None:
            path, place = move.entered
            count = self._entered(path, place[0].node, count)
        for path, id in move.left:
            count = self._left(path, id, count)
        return count

    # The policy.

    def _entered(self, path: Path, id: str, count: int) -> int:
        """The count after a node is entered; whether it fails or not makes no difference to these."""
        means = self._means(self.policy.node, path, id)
        match self.policy.kind:
            case "never_after":
                return max(count, int(means))
            case "at_most":
                # More than too many is too many.
                return min(count + means, self.policy.count + 1)
        return count

    def _left(self, path: Path, id: str, count: int) -> int:
        """The count after a node is left well."""
        means = self._means(self.policy.node, path, id)
        return max(count, int(means)) if self.policy.kind == "must_pass" else count

    def _means(self, name: str, path: Path, id: str) -> bool:
        full = "/".join((*path, id))
        plain = "/".join(step.partition("[")[0] for step in (*path, id))
        return name in (id, full, plain)

    def _breaks(self, path: Path, place: Place, count: int) -> bool:
        """Whether entering a node breaks the policy."""
        policy, id = self.policy, place[0].node
        match policy.kind:
            case "must_pass":
                return self._means(policy.other, path, id) and count == 0
            case "never_after":
                return self._means(policy.other, path, id) and count > 0
            case "at_most":
                return self._means(policy.node, path, id) and count >= policy.count
        return self._means(policy.node, path, id) and not self._holds(path, place)

    def _holds(self, path: Path, place: Place) -> bool:
        try:
            state = self.interleaving.explorer(path).values(place[0].state)
            return self.policy.condition is None or self.policy.condition(state)
        except Exception:
            # What cannot be asked does not hold.
            return False
