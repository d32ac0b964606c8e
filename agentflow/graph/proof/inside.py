"""Inside a node: what a monitor remembers after branches that run at the same time, in whatever order their visits come.

What a monitor remembers only grows, and what a visit adds does not depend on what was there before: a check was passed, a node
was visited, once more. So the order does not matter, a run of one branch after the other comes to the same as any other, and
the worst that siblings can do to a branch is to have come as far as they can, or not to have begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentflow.graph.kinds import Branch, Kind, MapEach, Parallel, Race, Subflow, step_of
from agentflow.graph.proof.points import Lack, Passage

if TYPE_CHECKING:
    from agentflow.graph.node import Node

__all__ = ["Inside"]

Way = Callable[[Branch, int], int]
"""From the worst before to the worst after something that a branch may do."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a node holds, to a monitor.

    Args:
        node: The node.
        kind: Its kind.
        walked: What one run of a branch comes to, from what was remembered before.
        worse: The worse of two numbers: the one of them that is larger, or that is smaller.
        most: The largest number that is told from others.
    """

    node: Node
    kind: Kind
    walked: Callable[[Branch, int], Passage]
    worse: Callable[[int, int], int]
    most: int

    def passage(self, seen: int) -> Passage:
        """The worst after one attempt of the node, and the first objection to anything inside."""
        match self.kind:
            case Subflow(branch):
                return self.walked(branch, seen)
            case Parallel(branches, "collect"):
                after: int | None = self._each(branches, seen, self._touched)
            case Parallel(branches):
                ends = all(self._ends(branch, seen) for branch in branches)
                after = self._each(branches, seen, self._ended) if ends else None
            case Race(branches):
                after = self._first(branches, seen)
            case MapEach():
                after = self._items(self.kind, self.kind.max_items, 0, seen)
        return Passage(
            after,
            self._at_any_time(seen),
            self._objection(seen),
            any(self.walked(branch, seen).merged for branch in self.kind.branches),
        )

    def _ends(self, branch: Branch, seen: int) -> bool:
        return self.walked(branch, seen).after is not None

    def _ended(self, branch: Branch, seen: int) -> int:
        """After a branch has ended well."""
        after = self.walked(branch, seen).after
        return seen if after is None else after

    def _touched(self, branch: Branch, seen: int) -> int:
        """At any time of a branch: it has not begun, is under way, has failed, was cancelled, or has ended well."""
        return self.walked(branch, seen).failed

    def _each(self, branches: Iterable[Branch], seen: int, way: Way) -> int:
        for branch in branches:
            seen = way(branch, seen)
        return seen

    def _first(self, branches: tuple[Branch, ...], seen: int) -> int | None:
        """After one has ended well, whatever the others have done by then."""
        won: int | None = None
        for winner in branches:
            if self._ends(winner, seen):
                others = self._each(_without(winner, branches), seen, self._touched)
                after = self._ended(winner, others)
                won = after if won is None else self.worse(won, after)
        return won

    def _items(self, kind: MapEach, count: int | None, under_way: int, seen: int) -> int:
        """After so many items or fewer, of which some may be under way; `None` for any number.

        Where a failure cancels, all that are not under way have ended well.
        """
        under_way = under_way if count is None else min(under_way, count)
        before = None if count is None else count - under_way
        way = self._touched if kind.on_branch_error == "collect" else self._ended
        ended = self._repeated(kind.branch, seen, way, before)
        return self.worse(seen, self._repeated(kind.branch, ended, self._touched, under_way))

    def _repeated(self, branch: Branch, seen: int, way: Way, times: int | None) -> int:
        more = way(branch, seen) - seen
        if not more or times == 0:
            return seen
        return self.most if times is None else min(self.most, seen + more * times)

    def _at_any_time(self, seen: int) -> int:
        """Before all have ended."""
        if isinstance(self.kind, MapEach):
            return self._items(self.kind, self.kind.max_items, self.kind.concurrency, seen)
        return self._each(self.kind.branches, seen, self._touched)

    def _beside(self, branch: Branch, seen: int) -> tuple[int, str]:
        """The worst that siblings of a branch may have done when it begins, and who they are, in words."""
        if isinstance(self.kind, MapEach):
            kind = self.kind
            others = None if kind.max_items is None else max(0, kind.max_items - 1)
            return self._items(
                kind, others, kind.concurrency - 1, seen
            ), "other items were worked on"
        siblings = _without(branch, self.kind.branches)
        busy = [one for one in siblings if self._touched(one, seen) != seen]
        names = " and ".join(step_of(self.node, one) for one in busy)
        said = f"{names} went on at the same time"
        return self._each(busy, seen, self._touched), said

    def _objection(self, seen: int) -> Lack | None:
        """The nearest objection to a branch: by what it does alone, else with what its siblings have done meanwhile."""
        kind = self.kind
        branches = () if isinstance(kind, MapEach) and kind.max_items == 0 else kind.branches
        alone = _nearest(self.walked(branch, seen).objection for branch in branches)
        if alone is not None:
            return alone
        found = []
        for branch in branches:
            worst, others = self._beside(branch, seen)
            lack = None if worst == seen else self.walked(branch, worst).objection
            if lack is not None:
                line = f"{step_of(self.node, branch)}: while {others}"
                found.append(replace(lack, beside=(line, *lack.beside)))
        return _nearest(found)


def _without(branch: Branch, branches: Iterable[Branch]) -> list[Branch]:
    return [one for one in branches if one is not branch]


def _nearest(lacks: Iterable[Lack | None]) -> Lack | None:
    found = [lack for lack in lacks if lack is not None]
    return min(found, key=lambda lack: len(lack.inside), default=None)
