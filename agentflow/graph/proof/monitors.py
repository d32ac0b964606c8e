"""Monitors: each follows a path visit by visit and objects when a policy is broken.

A node that holds a sub-workflow is followed inside: what a monitor remembers when the sub-workflow ends is found by a walk
of its own, once for each thing it may remember on the way in.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentflow.graph.condition import Condition
from agentflow.graph.kinds import step_of
from agentflow.graph.proof.box import Box, Picture, freeze_box
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.inside import Inside
from agentflow.graph.proof.points import Lack, Passage
from agentflow.graph.proof.story import nodes_on

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch
    from agentflow.graph.node import Node
    from agentflow.graph.policy import Policy

__all__ = ["PolicyMonitor", "names_a_node"]


def names_a_node(name: str, path: tuple[str, ...]) -> bool:
    """Whether `name` means the node at `path`: by its id, or by the path itself, with or without the names of branches."""
    plain = (step.partition("[")[0] for step in path)
    return name in (path[-1], "/".join(path)) or name == "/".join(plain)


@dataclass(eq=False)
class PolicyMonitor:
    """Judges one policy.

    Args:
        policy: Any policy about visits, which is every kind but `ends_within`.
        inside: The nodes of the sub-workflows that this monitor is in.
        start: What is remembered before the first visit.

    Attributes:
        worst: The worst that is remembered after any visit, failed or not.
    """

    policy: Policy
    inside: tuple[str, ...] = ()
    start: int = 0
    _passages: dict[tuple[str, str, int], Passage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.worst = self.start

    def asks(self, node: str) -> Condition | None:
        """The condition of `only_if`, at the node it is about."""
        if self.policy.kind == "only_if" and names_a_node(self.policy.node, (*self.inside, node)):
            return self.policy.condition
        return None

    def visit(self, seen: int, node: Node, box: Box, picture: Picture) -> Passage:
        """Judge the visit of a node, and of what is inside it."""
        path = (*self.inside, node.id)
        objection = self._objection(seen, path, box, picture)
        if objection and self.policy.kind == "only_if":
            # Go on with the runs that the policy has nothing against.
            self._narrow(box, picture)
        success, failure = self._after(seen, path)
        passage = Passage(success, failure, objection)
        if node.branches:
            inner = self._attempts(failure, node)
            after = None if inner.after is None else max(success, inner.after)
            passage = replace(inner, after=after, objection=objection or inner.objection)
        for memory in (passage.after, passage.failed):
            self.worst = self.worst if memory is None else self._worse(self.worst, memory)
        return passage

    def _worse(self, one: int, other: int) -> int:
        """Of must_pass it is worse to have seen nothing, of the others to have seen much."""
        return min(one, other) if self.policy.kind == "must_pass" else max(one, other)

    def _objection(
        self, seen: int, path: tuple[str, ...], box: Box, picture: Picture
    ) -> Lack | None:
        policy = self.policy
        broken = False
        match policy.kind:
            case "must_pass" | "never_after" if names_a_node(policy.other, path):
                broken = seen == (0 if policy.kind == "must_pass" else 1)
            case "at_most" if names_a_node(policy.node, path):
                broken = seen >= policy.count
            case "only_if" if names_a_node(policy.node, path):
                assert policy.condition is not None
                fails = picture.failing(policy.condition, box)
                if fails:
                    return Lack("violation", path[-1], box=freeze_box(fails[0]))
        return Lack("violation", path[-1], box=freeze_box(box)) if broken else None

    def _narrow(self, box: Box, picture: Picture) -> None:
        assert self.policy.condition is not None
        holds, _ = picture.split(self.policy.condition, box, lambda _test, _box: None)
        if len(holds) == 1:
            box.update(holds[0])

    def _after(self, seen: int, path: tuple[str, ...]) -> tuple[int, int]:
        """What is remembered after the visit succeeded, and after it failed."""
        policy = self.policy
        if not names_a_node(policy.node, path):
            return seen, seen
        match policy.kind:
            case "must_pass":
                # A check that failed is no check passed.
                return 1, seen
            case "never_after":
                return 1, 1
            case "at_most":
                more = min(seen + 1, policy.count + 1)
                return more, more
            case _:
                return seen, seen

    def _attempts(self, seen: int, node: Node) -> Passage:
        """What is remembered after what a node holds, which may fail and be tried again."""
        attempts = 1 if node.retry is None else node.retry.attempts
        first = found = self._through(seen, node)
        for _ in range(1, attempts):
            again = self._through(found.failed, node)
            if again == found:
                break
            if again.objection is not None and first.objection is None:
                # Only a further try breaks the policy: the node stands in the path once more.
                inside = (node.id, *again.objection.inside)
                again = replace(again, objection=replace(again.objection, inside=inside))
            found = self._either(found, again)
        return found

    def _either(self, one: Passage, other: Passage) -> Passage:
        """The worst after one of two ways, of which the second begins where the first has failed."""
        ends = [memory for memory in (one.after, other.after) if memory is not None]
        return Passage(
            functools.reduce(self._worse, ends) if ends else None,
            self._worse(one.failed, other.failed),
            one.objection or other.objection,
            one.merged or other.merged,
        )

    def _through(self, seen: int, node: Node) -> Passage:
        """What is remembered after what a node holds was tried once."""
        assert node.kind is not None

        def walked(branch: Branch, start: int) -> Passage:
            return self._branch(start, node, branch)

        most = self.policy.count + 1 if self.policy.kind == "at_most" else 1
        return Inside(node, node.kind, walked, self._worse, most).passage(seen)

    def _branch(self, seen: int, node: Node, branch: Branch) -> Passage:
        """What is remembered after one run of a branch, from a walk inside."""
        key = node.id, branch.name, seen
        found = self._passages.get(key)
        if found is None:
            found = self._passages[key] = self._walk_inside(seen, node, branch)
        return found

    def _walk_inside(self, seen: int, node: Node, branch: Branch) -> Passage:
        child = branch.workflow
        if not child.report.ok:
            return Passage(seen, seen)
        step = step_of(node, branch)
        inner = PolicyMonitor(self.policy, (*self.inside, step), seen)
        walk = Walk(child, monitor=inner, start=seen)
        objection = None
        for lack, place in walk.lacks:
            if lack.kind == "violation":
                way = tuple(f"{step}/{id}" for id in (*nodes_on(walk, place), *lack.inside))
                beside = tuple(f"{step}/{line}" for line in lack.beside)
                objection = replace(lack, inside=way, beside=beside)
                break
        ends = [step.seen for step, _ in walk.ends]
        after = functools.reduce(self._worse, ends) if ends else None
        return Passage(after, inner.worst, objection, walk.merged)
