"""Inside a node: what a monitor remembers after branches that run at the same time, in whatever order their visits come.

What a monitor remembers only grows: a check was passed, a node was visited, so many times. So the worst that siblings can do to
a branch is to have come as far as they can, or not to have begun; and a run of one after the other comes to the same end
as any other order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agentflow.graph.kinds import Branch, Kind, MapEach, Parallel, Race, Subflow
from agentflow.graph.proof.points import Lack, Passage

__all__ = ["Inside", "either"]

Seen = frozenset[int]


@dataclass(frozen=True, slots=True)
class Inside:
    """What a node holds, to a monitor.

    Args:
        kind: The node's kind.
        walked: What one run of a branch comes to, from what was remembered before.
    """

    kind: Kind
    walked: Callable[[Branch, int], Passage]

    def passage(self, seen: int) -> Passage:
        """What is remembered after one attempt of the node, and the first objection to anything inside."""
        start = frozenset((seen,))
        match self.kind:
            case Subflow(branch):
                return self.walked(branch, seen)
            case Parallel(branches, on_branch_error):
                lenient = on_branch_error == "collect"
                after = self._each(start, branches, self._tried if lenient else self._ended)
                runs: tuple[Branch, ...] = branches
            case MapEach(branch, max_items=most, on_branch_error=on_branch_error):
                way = self._tried if on_branch_error == "collect" else self._ended
                after = self._repeated(start, branch, most, way)
                runs = (branch,)
            case Race(branches):
                after = frozenset[int]().union(
                    *(self._won(start, branches, winner) for winner in branches)
                )
                runs = branches
        failed = self._any_time(start)
        return Passage(tuple(sorted(after)), tuple(sorted(failed)), self._objection(seen, runs))

    def _ended(self, branch: Branch, seen: Seen) -> Seen:
        """After a branch ended well."""
        return frozenset(end for one in seen for end in self.walked(branch, one).after)

    def _tried(self, branch: Branch, seen: Seen) -> Seen:
        """After a branch ended, or failed somewhere, or was cancelled somewhere, or has not begun."""
        touched = (self.walked(branch, one).after_failure for one in seen)
        return seen.union(self._ended(branch, seen), *touched)

    def _each(
        self, seen: Seen, branches: Iterable[Branch], way: Callable[[Branch, Seen], Seen]
    ) -> Seen:
        for branch in branches:
            seen = way(branch, seen)
        return seen

    def _repeated(
        self, seen: Seen, branch: Branch, most: int | None, way: Callable[[Branch, Seen], Seen]
    ) -> Seen:
        """After none, one, or more runs of a branch, `most` at most."""
        run = 0
        while most is None or run < most:
            more = seen | way(branch, seen)
            if more == seen:
                break
            seen, run = more, run + 1
        return seen

    def _won(self, seen: Seen, branches: tuple[Branch, ...], winner: Branch) -> Seen:
        others = (branch for branch in branches if branch is not winner)
        return self._ended(winner, self._each(seen, others, self._tried))

    def _any_time(self, seen: Seen) -> Seen:
        """At any time before all have ended."""
        if isinstance(self.kind, MapEach):
            return self._repeated(seen, self.kind.branch, self.kind.max_items, self._tried)
        return self._each(seen, self.kind.branches, self._tried)

    def _objection(self, seen: int, branches: tuple[Branch, ...]) -> Lack | None:
        """The first objection to a branch, whatever its siblings have done when it comes that far."""
        start = frozenset((seen,))
        for branch in branches:
            if isinstance(self.kind, MapEach):
                most = self.kind.max_items
                if most == 0:
                    continue
                others = None if most is None else most - 1
                beside = self._repeated(start, branch, others, self._tried)
            else:
                siblings = [one for one in branches if one is not branch]
                beside = self._each(start, siblings, self._tried)
            for one in sorted({seen, max(beside)}):
                found = self.walked(branch, one).objection
                if found is not None:
                    return found
        return None


def either(one: Passage, other: Passage) -> Passage:
    """What is remembered after one of two ways."""
    return Passage(
        tuple(sorted({*one.after, *other.after})),
        tuple(sorted({*one.after_failure, *other.after_failure})),
        one.objection or other.objection,
    )
