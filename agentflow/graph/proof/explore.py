"""The walk: every path of a workflow over the finite picture of its data, as the engine would go it.

A point is a node on arrival together with everything that decides what may follow: what the fields may hold, which round
boundaries were passed, which error nodes were entered in this round. Points that would go on alike are one, because fields that
no longer matter are left out. So the walk is finite and, below a cap of points for each node, exact: each point stands for
runs that really exist. Above the cap the points of a node are merged into one that allows whatever any of them allows.

Nodes are taken at their word: an update holds every field of `provides` with any valid value, and any of `may_provide`; and every
node may fail before it has provided anything. A condition that is a function may say yes or no at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.condition import Condition
from agentflow.graph.proof.box import Box, Picture, freeze_box
from agentflow.graph.proof.domain import ABSENT
from agentflow.graph.proof.liveness import liveness
from agentflow.graph.proof.losses import losses
from agentflow.graph.proof.points import Expansion, Lack, Monitor, Place, Point, Step
from agentflow.graph.proof.visit import Expander

if TYPE_CHECKING:
    from agentflow.graph.proof.liveness import Liveness
    from agentflow.graph.workflow import Workflow

__all__ = ["CAP", "Walk"]

CAP: Final = 48
"""How many points of one node are kept apart."""

_MOST_LAYERS: Final = 64
"""How many rounds are told apart before the walk gives up on finding the period of their points."""

_MOST_BOUNDARIES: Final = 8
"""How many round boundaries are told apart; with more, any of them may have been visited at any time."""


@dataclass(eq=False)
class Walk:
    """All paths of one workflow, walked breadth first, so that the first path to anything is a shortest one.

    Args:
        workflow: A workflow whose structure is sound.
        monitor: Judges every path.
        cap: How many points of one node are kept apart.
        rounds: The largest number of rounds; default: the workflow's.
        start: What the monitor has seen before the first node.
        kept: Fields that matter at the ends.
        lost: Fields that a run may have lost when it visits a node, or have got anew, by node; default: the private ones,
            wherever the run may be suspended.
        exact: Keep every round of a point apart, instead of the first only.
        begin: Where paths begin, with the rounds that are open there; default: at the entry.
    """

    workflow: Workflow[Any]
    monitor: Monitor | None = None
    cap: int = CAP
    rounds: float | None = None
    start: int = 0
    kept: frozenset[str] = frozenset()
    lost: Mapping[str, frozenset[str]] | None = None
    exact: bool = False
    begin: tuple[Place, ...] = ()
    merged: bool = field(default=False, init=False)
    came: dict[Place, tuple[Place, Step] | None] = field(default_factory=dict, init=False)
    lacks: list[tuple[Lack, Place]] = field(default_factory=list, init=False)
    taken: set[tuple[str, int]] = field(default_factory=set, init=False)
    left: set[str] = field(default_factory=set, init=False)
    ends: list[tuple[Step, Place]] = field(default_factory=list, init=False)
    reached: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.nodes = self.workflow.shape.nodes
        self.losses = losses(self.workflow) if self.lost is None else self.lost
        asked = self._asked()
        self.picture = Picture(self.workflow, asked.values())
        reads = {id: condition.reads() for id, condition in asked.items()}
        self.live: Liveness = liveness(self.workflow, self.kept, reads)
        self._boundaries = self._revisited_boundaries()
        self._expansions: dict[Point, Expansion] = {}
        self._apart: dict[tuple[str, int], set[Point]] = {}
        self._loose: dict[tuple[str, int], Point] = {}
        self.first = self._first()
        self._starts = [(self._begun(point), round) for point, round in self.begin]
        if self.rounds is None:
            stated = self.workflow.max_rounds
            self.rounds = 1 if stated is None else stated
        self._go()
        self.merged |= self.picture.coarse
        self.reached = {point.node for point, _ in self.came}

    @cached_property
    def calm(self) -> Walk:
        """The walk over those runs alone that lose nothing."""
        return Walk(self.workflow, lost={}) if self.losses else self

    def path(self, place: Place) -> list[tuple[Place, Step | None]]:
        """A shortest path to a point: each point with the step that leaves it, the last one with none."""
        found: list[tuple[Place, Step | None]] = [(place, None)]
        before = self.came[place]
        while before is not None:
            found.append(before)
            before = self.came[before[0]]
        return found[::-1]

    def forget(self, node: str, box: Box) -> None:
        """Note what may have become of the fields that are lost when a node is visited."""
        for name in self.losses.get(node, ()):
            self.picture.write(box, name, sure=True)
            if self.workflow.schema.fields[name].default is None:
                box[name] |= ABSENT

    def expand(self, point: Point) -> Expansion:
        """What may follow from a point; worked out once."""
        found = self._expansions.get(point)
        if found is None:
            found = self._expansions[point] = Expander(self, point).expansion()
        return found

    def arrivals(
        self, node: str, box: Box, point: Point, seen: int, *, error: bool = False
    ) -> Iterator[tuple[Point, bool, Point | None]]:
        """The points that entering `node` leads to: with whether a round is opened, and where to go if none is left."""
        visited = point.visited
        if visited is not None and point.node in self._boundaries:
            visited = visited | {point.node}
        handled = point.handled | {node} if error else point.handled
        frozen = freeze_box(self.picture.keep(box, self.live.before[node]))
        boundary = node in self._boundaries
        fresh = not boundary or visited is None or node not in visited
        again = boundary and (visited is None or node in visited)
        if fresh:
            target = Point(node, frozen, visited, handled, error, point.limited, seen)
            yield self._intern(target), False, None
        if again and not point.limited:
            limit = None
            if self.workflow.on_limit is not None:
                rest = freeze_box(self.picture.keep(box, self.live.before[self.workflow.on_limit]))
                limit = self._intern(
                    Point(self.workflow.on_limit, rest, visited, handled, False, True, seen)
                )
            target = Point(node, frozen, visited, frozenset(), error, False, seen)
            yield self._intern(target), True, limit

    def _asked(self) -> dict[str, Condition]:
        """The conditions that the monitor asks, by node."""
        if self.monitor is None:
            return {}
        found = {id: self.monitor.asks(id) for id in self.nodes}
        return {id: condition for id, condition in found.items() if condition is not None}

    def _revisited_boundaries(self) -> frozenset[str]:
        """The nodes that can open a further round: they start rounds and lie on a cycle of any edges."""
        starts = [id for id, node in self.nodes.items() if node.starts_round]
        return self.workflow.shape.looping.intersection(starts) if starts else frozenset()

    def _first(self) -> Point:
        workflow, box = self.workflow, Box()
        if workflow.open_inputs:
            names = {
                name for node in self.nodes.values() for name in (*node.requires, *node.may_write)
            }
            names |= {name for live in self.live.before.values() for name in live}
            for name in sorted(names):
                self.picture.write(box, name, sure=False)
        for name in workflow.optional_inputs:
            self.picture.write(box, name, sure=False)
        for spec in workflow.schema.with_default():
            self.picture.write(box, spec.name, sure=True)
            given = spec.name in workflow.inputs or spec.name in workflow.optional_inputs
            if spec.constant and not given:
                assert spec.default is not None
                self.picture.narrow(box, spec.name, spec.default)
        for name in workflow.inputs:
            self.picture.write(box, name, sure=True)
        kept = self.picture.keep(box, self.live.before[workflow.entry])
        visited: frozenset[str] | None = frozenset()
        if len(self._boundaries) > _MOST_BOUNDARIES:
            self.merged, visited = True, None
        return self._intern(Point(workflow.entry, freeze_box(kept), visited, seen=self.start))

    def _begun(self, point: Point) -> Point:
        """A point of elsewhere as one of this walk."""
        box = self.picture.keep(dict(point.box), self.live.before[point.node])
        known = self.first.visited is not None and point.visited is not None
        visited = point.visited & self._boundaries if known and point.visited is not None else None
        return self._intern(point._replace(box=freeze_box(box), visited=visited))

    def _intern(self, point: Point) -> Point:
        """The point itself, or, above the cap, the one into which the points of its node are merged."""
        key = point.node, point.seen
        apart = self._apart.setdefault(key, set())
        if point in apart:
            return point
        if len(apart) < self.cap:
            apart.add(point)
            return point
        self.merged = True
        loose = self._loose.get(key)
        box = dict(point.box)
        if loose is not None:
            for name, mask in loose.box:
                box[name] = box.get(name, ABSENT) | mask
            for name in box.keys() - dict(loose.box).keys():
                box[name] |= ABSENT
        wider = Point(point.node, freeze_box(box), None, seen=point.seen)
        self._loose[key] = wider
        return wider

    def _go(self) -> None:
        assert self.rounds is not None
        rounds = self.rounds
        exact = self.exact
        if self.workflow.on_limit is not None and not exact and not self._starts:
            shorter = self._shorter(rounds)
            exact = shorter is not None
            rounds = rounds if shorter is None else shorter
        best: dict[Point, float] = {}
        starts: list[Place] = self._starts or [(self.first, 1)]
        self.came.update(dict.fromkeys(starts))
        queue: deque[Place] = deque(starts)
        while queue:
            place = queue.popleft()
            point, round = place
            expansion = self.expand(point)
            self.lacks.extend((lack, place) for lack in expansion.lacks)
            self.taken |= {(point.node, at) for at in expansion.taken}
            for step in expansion.steps:
                if step.kind != "error":
                    self.left.add(point.node)
                if step.kind == "end":
                    self.ends.append((step, place))
                for after, way in self._onward(step, round, rounds, exact=exact):
                    known = (
                        after in self.came
                        if exact
                        else best.get(after[0], after[1] + 1) <= after[1]
                    )
                    if not known:
                        best[after[0]] = after[1]
                        self.came[after] = place, way
                        queue.append(after)

    def _onward(
        self, step: Step, round: int, rounds: float, *, exact: bool
    ) -> Iterator[tuple[Place, Step]]:
        if step.target is None:
            return
        out = step.opens and round >= rounds
        if not out:
            yield (step.target, round + step.opens), step
        # Where the rounds of a path are not known exactly, they may be out at every boundary.
        if step.opens and step.limit is not None and (out or not exact):
            yield (step.limit, round), step._replace(kind="limit", target=step.limit, opens=False)

    def _shorter(self, rounds: float) -> int | None:
        """A number of rounds, as small as can be, after which the same is possible as after `rounds`; or `None`.

        What may open round n+1 follows from what may open round n. So the sets repeat sooner or later, and the last
        round of a million is like one of the first few.
        """
        layer = frozenset({self.first})
        known: dict[frozenset[Point], int] = {}
        closed: dict[Point, frozenset[Point]] = {}
        number = 1
        while layer and layer not in known and number < rounds:
            if number > _MOST_LAYERS:
                self.merged = True
            if self.merged:
                return None
            known[layer] = number
            for point in layer - closed.keys():
                closed[point] = self._next_round(point)
            layer = frozenset[Point]().union(*(closed[point] for point in layer))
            number += 1
        if self.merged:
            return None
        if number >= rounds or not layer:
            return number if layer else max(1, number)
        start, period = known[layer], number - known[layer]
        short = number - 1
        while (rounds - short) % period:
            short += 1
        assert short >= start
        return short

    def _next_round(self, point: Point) -> frozenset[Point]:
        """The points with which paths from `point` open their next round."""
        seen, waiting, found = {point}, [point], set()
        while waiting:
            for step in self.expand(waiting.pop()).steps:
                if step.target is None:
                    continue
                if step.opens:
                    found.add(step.target)
                elif step.target not in seen:
                    seen.add(step.target)
                    waiting.append(step.target)
        return frozenset(found)
