"""The explorer: every path of a small workflow, walked by brute force.

It knows what a run does from the order of a visit, and nothing of how the checker proves. A round is walked from every
situation in which it can open, and so on for as many rounds as there are. What it says is slow and true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tests.proofs.visits import Failing, Situation, Visits, Way

__all__ = ["Explorer", "Place"]

Place = tuple[Situation, int]
"""A situation in a round."""

_AT_THE_END = ("deliver", "finish")
"""What goes wrong only after a route was taken."""

_STOPS = ("requires", "reads", "raises", *_AT_THE_END, "uncovered")
"""What stops a run and is told as an error."""


@dataclass(eq=False)
class Explorer(Visits):
    """All paths of a workflow whose structure is sound; `rounds` replaces its `max_rounds`."""

    rounds: int = 0
    _closures: dict[
        frozenset[Situation], tuple[set[Situation], frozenset[Situation], frozenset[Situation]]
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rounds = self.rounds or self.workflow.max_rounds or 1

    # All visits.

    @cached_property
    def situations(self) -> frozenset[Situation]:
        """Every situation of every run."""
        found: set[Situation] = set()
        layer = frozenset(self.starts())
        for number in range(1, self.rounds + 1):
            inside, opened, limits = self._closure(layer)
            found |= inside
            if number == self.rounds and limits:
                found |= self._closure(limits)[0]
            if not opened:
                break
            layer = opened
        return frozenset(found)

    def _closure(
        self, layer: frozenset[Situation]
    ) -> tuple[set[Situation], frozenset[Situation], frozenset[Situation]]:
        """What can be reached inside a round, what opens the next, and what is entered when there is none."""
        if layer not in self._closures:
            inside, opened, limits = set(layer), set(), set()
            waiting = list(layer)
            while waiting:
                for way in self.visit(waiting.pop()).ways:
                    if way.target is None:
                        continue
                    if way.opens:
                        opened.add(way.target)
                        if way.limit is not None:
                            limits.add(way.limit)
                    elif way.target not in inside:
                        inside.add(way.target)
                        waiting.append(way.target)
            self._closures[layer] = inside, frozenset(opened), frozenset(limits)
        return self._closures[layer]

    @property
    def reached(self) -> set[str]:
        """The nodes that some run visits."""
        return {here.node for here in self.situations}

    @property
    def taken(self) -> set[tuple[str, int]]:
        """The routes that some run takes, whatever comes of it; by node and number."""
        return {
            (here.node, way.route)
            for here in self.situations
            for way in self.visit(here).ways
            if way.route >= 0 and (way.problem is None or way.problem.kind in _AT_THE_END)
        }

    @property
    def left(self) -> set[str]:
        """The nodes that some run leaves without a failure."""
        return {
            here.node
            for here in self.situations
            for way in self.visit(here).ways
            if way.kind in ("route", "end") and not (way.opens and here.limited)
        }

    def problems(self, *kinds: str) -> set[tuple[str, Failing]]:
        """Every way in which a run can end badly, or be warned of, by node."""
        found = set()
        for here in self.situations:
            visit = self.visit(here)
            found |= {
                (here.node, problem)
                for problem in visit.failing | visit.warned
                if problem.kind in kinds
            }
        return found

    @cached_property
    def _futures(self) -> dict[Situation, set[Situation]]:
        """Where runs go on without a failure from every situation, however many rounds they have."""
        found: dict[Situation, set[Situation]] = {}
        waiting = list(self.situations)
        while waiting:
            here = waiting.pop()
            if here not in found:
                ways = [way for way in self.visit(here).ways if way.kind != "error"]
                ways = [way for way in ways if not (way.opens and here.limited)]
                found[here] = {at for way in ways for at in (way.target, way.limit) if at}
                waiting += found[here]
        return found

    @cached_property
    def endless(self) -> set[str]:
        """The visited nodes from which no run ends without a failure, however many rounds it has."""
        able = {
            here
            for here in self._futures
            if any(way.kind == "end" for way in self.visit(here).ways)
        }
        waiting = list(able)
        into: dict[Situation, set[Situation]] = {}
        for here, further in self._futures.items():
            for target in further:
                into.setdefault(target, set()).add(here)
        while waiting:
            for source in into.get(waiting.pop(), set()) - able:
                able.add(source)
                waiting.append(source)
        return self.reached - {here.node for here in able}

    @property
    def traps(self) -> set[frozenset[str]]:
        """Endless nodes after which nothing stops a run, in groups that lead to no others of that kind."""
        after = {id: self._after(id) for id in self.endless}
        quiet = {id: further for id, (further, stops) in after.items() if not stops}
        groups = {id: {id, *(further & quiet.keys())} for id, further in quiet.items()}
        for _ in quiet:
            groups = {
                id: {far for near in group for far in groups[near]} for id, group in groups.items()
            }
        return {
            frozenset(group)
            for id, group in groups.items()
            if all(id in groups[other] for other in group)
        }

    @cached_property
    def _stopping(self) -> set[str]:
        """The nodes at which something stops a run."""
        return {id for id, _ in self.problems(*_STOPS)}

    def _after(self, id: str) -> tuple[set[str], bool]:
        """The endless nodes that may be visited after one, and whether it or they may be such that something stops runs there."""
        waiting = [here for here in self._futures if here.node == id]
        seen = set(waiting)
        further: set[str] = set()
        stops = False
        while waiting:
            here = waiting.pop()
            stops |= here.node in self._stopping
            for target in self._futures[here]:
                if target.node in self.endless:
                    further.add(target.node)
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return further, stops

    # One path.

    def onward(self, place: Place) -> Iterator[tuple[Way, Place | None]]:
        """Every way on from a place, with where it leads; `None` where the run ends, well or badly."""
        here, round = place
        for way in self.visit(here).ways:
            if way.target is None:
                yield way, None
            elif not way.opens:
                yield way, (way.target, round)
            elif round < self.rounds:
                yield way, (way.target, round + 1)
            else:
                yield way, None if way.limit is None else (way.limit, round)

    def along(self, path: Iterable[str]) -> set[Place]:
        """Every place in which a run can be that has visited the nodes of `path`."""
        first, *rest = path
        places = {(start, 1) for start in self.starts() if start.node == first}
        for id in rest:
            places = {
                after
                for place in places
                for _, after in self.onward(place)
                if after is not None and after[0].node == id
            }
        return places

    def nearest(self, goal: Callable[[Place], bool]) -> int:
        """How many nodes a shortest path to a goal has; 0 if there is none."""
        layer: list[Place] = [(start, 1) for start in self.starts()]
        seen = set(layer)
        length = 1
        while layer:
            if any(goal(place) for place in layer):
                return length
            length += 1
            further = []
            for place in layer:
                for _, after in self.onward(place):
                    if after is not None and after not in seen:
                        seen.add(after)
                        further.append(after)
            layer = further
        return 0
