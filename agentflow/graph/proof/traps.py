"""Traps: nodes from which no run comes to an end, and of these the ones where the trap lies."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Final

from agentflow.graph.shape import Edge, cyclic_parts

if TYPE_CHECKING:
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.proof.points import LackKind, Point

__all__ = ["STOPS", "Traps"]

STOPS: Final[frozenset[LackKind]] = frozenset(
    {"requires", "reads", "raises", "deliver", "finish", "uncovered"}
)
"""What goes wrong at a point and ends the run there, which is told as an error of its own."""


class Traps:
    """What a walk tells of runs that come to no end without a failure, however many rounds they had."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._onward: dict[Point, list[Point]] = {}
        """Where a run may go on from each point without a failure."""
        ends = self._explore()
        self._into: dict[Point, list[Point]] = {}
        for point, further in self._onward.items():
            for target in further:
                self._into.setdefault(target, []).append(point)
        able = self._before(ends)
        self.endless = frozenset(walk.reached.difference(point.node for point in able))
        """The visited nodes from which no run comes to an end."""

    def _explore(self) -> list[Point]:
        """Go on from every point; those that can end the run."""
        walk = self._walk
        waiting = [walk.first, *(point for point, _ in walk.came)]
        ends = []
        while waiting:
            point = waiting.pop()
            if point in self._onward:
                continue
            steps = [step for step in walk.expand(point).steps if step.kind != "error"]
            if any(step.kind == "end" for step in steps):
                ends.append(point)
            ways = (target for step in steps for target in (step.target, step.limit))
            self._onward[point] = [target for target in ways if target is not None]
            waiting += self._onward[point]
        return ends

    def _before(self, points: Iterable[Point]) -> set[Point]:
        """Some points, and those from which a run may come to them."""
        found = set(points)
        waiting = list(found)
        while waiting:
            for source in self._into.get(waiting.pop(), ()):
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        return found

    def causes(self) -> list[tuple[str, ...]]:
        """The endless nodes at which the trap lies, in groups that lead to each other.

        A node that only leads to other endless ones is not among them, for whoever mends those lets its runs end too; nor is
        one whose runs may come to a node where something else stops runs, which is to be mended first.
        """
        if not self.endless:
            return []
        # Nodes, not points: what stops a run in one round may not be seen of it in a round that `max_rounds` forbids.
        stopping = {point.node for lack, (point, _) in self._walk.lacks if lack.kind in STOPS}
        stops = [point for point in self._onward if point.node in stopping]
        stopped = {point.node for point in self._before(stops)}
        points: dict[str, list[Point]] = {
            id: [] for id in self._walk.nodes if id in self.endless and id not in stopped
        }
        for point in self._onward:
            if point.node in points:
                points[point.node].append(point)
        nodes = points.keys()
        edges = [
            Edge(id, further, "route")
            for id, starts in points.items()
            for further in self._next(starts, nodes)
        ]
        parts = cyclic_parts(nodes, edges)
        looping = {id for part in parts for id in part}
        groups = [*parts, *((id,) for id in nodes if id not in looping)]
        home = {id: group for group in groups for id in group}
        passing = {home[edge.source] for edge in edges if edge.target not in home[edge.source]}
        return [group for group in groups if group not in passing]

    def _next(self, starts: Iterable[Point], nodes: Container[str]) -> set[str]:
        """Which of some nodes a run may visit next after one of some points, with others in between."""
        further: set[str] = set()
        waiting = list(starts)
        seen = set(waiting)
        while waiting:
            for target in self._onward[waiting.pop()]:
                if target.node in nodes:
                    further.add(target.node)
                elif target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return further
