"""Judging: whether a policy holds on every path, by walking every path with the policy in hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentflow import Node, Workflow
from agentflow.graph.policy import Policy
from tests.proofs.explorer import Explorer, Place
from tests.proofs.visits import Situation, State

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
    """Judges one policy about visits; `inside` are the nodes of the sub-workflows above."""

    workflow: Workflow[Any]
    policy: Policy
    inside: tuple[str, ...] = ()
    _inner: dict[str, Judge] = field(default_factory=dict)
    _passages: dict[tuple[Situation, int], Passage] = field(default_factory=dict)
    _runs: dict[int, Passage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        condition = self.policy.condition
        self.explorer = Explorer(self.workflow, () if condition is None else (condition,))

    @property
    def broken(self) -> bool:
        """Whether some path breaks the policy."""
        return self.run(0).broken

    def run(self, count: int) -> Passage:
        """What may come of a whole run that begins with a count."""
        if count not in self._runs:
            after: set[int] = set()
            failed: set[int] = set()
            broken = False
            for stand in self._stands(count):
                passage = self.passage(stand)
                broken |= passage.broken
                for way in self.explorer.visit(stand.place[0]).ways:
                    if way.kind == "end":
                        after |= passage.after
                    elif way.problem is not None and way.problem.kind == "raised":
                        failed |= passage.failed
            self._runs[count] = Passage(frozenset(after), frozenset(failed), broken)
        return self._runs[count]

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

    def _stands(self, count: int) -> set[Stand]:
        waiting = [Stand((start, 1), count) for start in self.explorer.starts()]
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
            self._passages[here, count] = self._visited(here, count)
        return self._passages[here, count]

    def _visited(self, here: Situation, count: int) -> Passage:
        problems = self.explorer.visit(here).failing
        if any(problem.kind == "requires" for problem in problems):
            return Passage(frozenset(), frozenset(), broken=False)
        node = self.explorer.nodes[here.node]
        broken = self._is_broken(node, here.state, count)
        means = self._means(self.policy.node, node)
        match self.policy.kind:
            case "must_pass":
                passed, failed = max(count, int(means)), count
            case "never_after":
                passed = failed = max(count, int(means))
            case "at_most":
                # More than too many is too many.
                passed = failed = min(count + means, self.policy.count + 1)
            case _:
                passed = failed = count
        if node.kind is None:
            return Passage(frozenset({passed}), frozenset({failed}), broken)
        return self._inside(node, failed, means and self.policy.kind == "must_pass", broken)

    def _inside(self, node: Node, count: int, passes: bool, broken: bool) -> Passage:
        assert node.kind is not None
        judge = self._inner.setdefault(
            node.id, Judge(node.kind.workflow, self.policy, (*self.inside, node.id))
        )
        after: set[int] = set()
        begun = {count}
        for _ in range(1 if node.retry is None else node.retry.attempts):
            runs = [judge.run(each) for each in begun]
            broken |= any(run.broken for run in runs)
            after |= {max(1, end) if passes else end for run in runs for end in run.after}
            begun = {end for run in runs for end in run.failed}
        return Passage(frozenset(after), frozenset(begun), broken)

    def _means(self, name: str, node: Node) -> bool:
        return name in (node.id, "/".join((*self.inside, node.id)))

    def _is_broken(self, node: Node, state: State, count: int) -> bool:
        policy = self.policy
        match policy.kind:
            case "must_pass":
                return self._means(policy.other, node) and count == 0
            case "never_after":
                return self._means(policy.other, node) and count > 0
            case "at_most":
                return self._means(policy.node, node) and count >= policy.count
        return self._means(policy.node, node) and not self._holds(state)

    def _holds(self, state: State) -> bool:
        try:
            return self.policy.condition is None or self.policy.condition(
                self.explorer.values(state)
            )
        except Exception:
            # What cannot be asked does not hold.
            return False
