"""The longest walks: worst cases of everything a run counts, in closed form.

Inside a round the points form no cycle, so the longest way through is found in one pass. From round to round the counts follow a
matrix over the points that open a round, with `max` for sum and `+` for product; so the worst of n rounds is a power of
that matrix, found by squaring: the work grows with the logarithm of `max_rounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.bounds import COUNTS, Bound, Bounds, Extent
from agentflow.graph.cost import Cost, cost_of
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.points import Point

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["extent", "fewest_visits"]

_MOST_OPENINGS: Final = 24
"""How many points that open a round the matrix may have; with more, the simple bound is taken."""

Row = dict[Point, int]
Weight = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Weights:
    """What is counted.

    Args:
        most: For the visit of a node, at most.
        well: The same if it is left by a route.
        opening: For each further round.
    """

    most: Weight
    well: Weight
    opening: int = 0

    @classmethod
    def equal(cls, weight: Weight, opening: int = 0) -> _Weights:
        """Weights of what does not depend on how a visit ends."""
        return cls(weight, weight, opening)


def extent(workflow: Workflow[Any]) -> Extent:
    """The worst case of a workflow whose structure is sound."""
    walk = Walk(workflow)
    costs = {id: cost_of(walk.nodes[id]) for id in walk.nodes if id in walk.reached}
    rounds = 1 if workflow.max_rounds is None else workflow.max_rounds
    longest = None if walk.merged else _Longest.of(walk, rounds)
    counts = _simple(walk, rounds) if longest is None else None

    def worst(weights: _Weights) -> int:
        if longest is not None:
            return longest.worst(weights)
        assert counts is not None
        visits = sum(weights.most(id) * count for id, count in counts[0].items())
        return weights.opening * counts[1] + visits

    def bound(name: str) -> tuple[Bound, Bound]:
        endless = next((c.most[name] for c in costs.values() if not c.most[name].bounded), None)
        if endless is not None:
            return endless, endless
        weights = _weights(costs, name)
        first = weights.opening
        most = worst(weights)
        well = None if longest is None else longest.ending_well(weights)
        return Bound(first + most), Bound(first + (most if well is None else well))

    own_rounds = 1 + worst(_Weights.equal(lambda _: 0, 1))
    both = {name: bound(name) for name in COUNTS}
    bounds = Bounds(
        rounds_of_workflow=own_rounds,
        node_visits={id: _visits_of(walk, worst, id) for id in walk.nodes},
        exact=longest is not None and all(cost.exact for cost in costs.values()),
        **{name: most for name, (most, _) in both.items()},
    )
    return Extent(bounds, {name: well for name, (_, well) in both.items()})


def fewest_visits(walk: Walk) -> int | None:
    """How many visits a shortest run to an end makes; `None` where none ends, or paths are too many to be told apart."""
    stated = walk.workflow.max_rounds
    longest = None if walk.merged else _Longest.of(walk, 1 if stated is None else stated)
    # The shortest way is the longest where each visit counts less than nothing.
    most = None if longest is None else longest.ending_well(_Weights.equal(lambda _: -1))
    return None if most is None else -most


def _weights(costs: Mapping[str, Cost], name: str) -> _Weights:
    def amount(of: Callable[[Cost], Mapping[str, Bound]]) -> Weight:
        # A node to which rounds do not suffice is a point of the matrix all the same.
        return lambda node: (of(costs[node])[name].value or 0) if node in costs else 0

    return _Weights(
        amount(lambda cost: cost.most), amount(lambda cost: cost.well), int(name == "rounds")
    )


def _visits_of(walk: Walk, worst: Callable[[_Weights], int], id: str) -> int:
    if id not in walk.reached:
        return 0
    if id not in walk.workflow.shape.looping:
        return 1
    return worst(_Weights.equal(lambda other: int(other == id)))


class _Longest:
    """The longest walks over the points of one walk, for any weight of visits.

    Args:
        walk: The walk.
        rounds: The largest number of rounds.
        order: Every point, those that lead on inside a round before those they lead to.
        openings: The points that open rounds.
    """

    def __init__(
        self,
        walk: Walk,
        rounds: int,
        order: list[Point],
        openings: Collection[Point],
    ) -> None:
        self.walk = walk
        self.rounds = rounds
        self.order = order
        self.openings = openings

    @classmethod
    def of(cls, walk: Walk, rounds: int) -> _Longest | None:
        """The points in order, or `None` where they are too many to be told apart."""
        openings: dict[Point, None] = {walk.first: None}
        ways: dict[Point, list[Point]] = {}
        layer = [walk.first]
        for number in range(1, rounds + 1):
            opened = cls._round(walk, ways, layer)
            layer = [point for point in opened if point not in openings]
            if not layer or number == rounds:
                break
            openings |= dict.fromkeys(layer)
        if walk.merged or len(openings) > _MOST_OPENINGS:
            return None
        return cls(walk, rounds, _sorted(ways), openings)

    @staticmethod
    def _round(walk: Walk, ways: dict[Point, list[Point]], layer: list[Point]) -> list[Point]:
        """Note the ways inside of a round that opens with `layer`; what may open the next."""
        opened: list[Point] = []
        waiting = list(layer)
        while waiting:
            point = waiting.pop()
            if point in ways:
                continue
            ways[point] = []
            for step in walk.expand(point).steps:
                if step.target is None:
                    continue
                if step.opens:
                    opened.append(step.target)
                    waiting += [] if step.limit is None else [step.limit]
                else:
                    ways[point].append(step.target)
                    waiting.append(step.target)
        return opened

    def worst(self, weights: _Weights) -> int:
        """The largest sum over the visits of a run, wherever it stops."""
        most = self._most(weights, lambda point: weights.most(point.node))
        assert most is not None, "a run may stop at its first visit"
        return most

    def ending_well(self, weights: _Weights) -> int | None:
        """The largest sum over the visits of a run that comes to an end; `None` if none does."""

        def stop(point: Point) -> int | None:
            ends = any(step.kind == "end" for step in self.walk.expand(point).steps)
            return weights.well(point.node) if ends else None

        return self._most(weights, stop)

    def _most(self, weights: _Weights, stop: Callable[[Point], int | None]) -> int | None:
        """The largest sum of the runs that stop where they may; `stop` says what is counted there, `None` if they may not."""
        stay, go, limit = self._inside(weights, stop)
        matrix = {a: go[a] for a in self.openings}
        first = self.walk.first
        after = _power(matrix, self.rounds - 1, {first: 0}, stopping=True)
        found = [value + stay[point] for point, value in after.items() if point in stay]
        last = _power(matrix, self.rounds - 1, {first: 0}, stopping=False)
        found += [value + limit[point] for point, value in last.items() if point in limit]
        return max(found, default=None)

    def _inside(
        self, weights: _Weights, stop: Callable[[Point], int | None]
    ) -> tuple[Row, dict[Point, Row], Row]:
        """From each point, inside its round: the most on any way, to each next opening, and on to `on_limit`."""
        stay: Row = {}
        go: dict[Point, Row] = {}
        limit: Row = {}
        for point in reversed(self.order):
            stopping = stop(point)
            most = [] if stopping is None else [stopping]
            past: list[int] = []
            go[point] = out = Row()
            for step in self.walk.expand(point).steps:
                if step.target is None:
                    continue
                own = (weights.most if step.kind == "error" else weights.well)(point.node)
                if step.opens:
                    # What only a round too many would open is no row of the matrix.
                    if step.target in self.openings:
                        _raise(out, step.target, own + weights.opening)
                    if step.limit in stay:
                        past.append(own + stay[step.limit])
                    continue
                most += [own + stay[step.target]] if step.target in stay else []
                past += [own + limit[step.target]] if step.target in limit else []
                for target, value in go[step.target].items():
                    _raise(out, target, own + value)
            for row, values in ((stay, most), (limit, past)):
                if values:
                    row[point] = max(values)
        return stay, go, limit


def _raise(row: Row, point: Point, value: int) -> None:
    """Let a row hold at least a value for a point."""
    row[point] = max(row.get(point, value), value)


def _sorted(ways: Mapping[Point, list[Point]]) -> list[Point]:
    """The points so that every way inside a round leads forward, limits after everything that may lead to them."""
    coming = dict.fromkeys(ways, 0)
    for targets in ways.values():
        for target in targets:
            coming[target] += 1
    free = [point for point, count in coming.items() if not count]
    order: list[Point] = []
    while free:
        point = free.pop()
        order.append(point)
        for target in ways[point]:
            coming[target] -= 1
            if not coming[target]:
                free.append(target)
    # No way leads from a run whose rounds are out to one whose rounds are not.
    return sorted(order, key=lambda point: point.limited)


def _power(matrix: Mapping[Point, Row], times: int, start: Row, *, stopping: bool) -> Row:
    """A row after `times` steps of the matrix, or, if `stopping`, after any number up to that."""
    square: dict[Point, Row] = {point: dict(row) for point, row in matrix.items()}
    if stopping:
        for point, row in square.items():
            _raise(row, point, 0)
    row = dict(start)
    while times:
        if times & 1:
            row = _times(row, square)
        times >>= 1
        if times:
            square = {point: _times(line, square) for point, line in square.items()}
    return row


def _times(row: Row, matrix: Mapping[Point, Row]) -> Row:
    found: Row = {}
    for middle, value in row.items():
        for target, more in matrix[middle].items():
            _raise(found, target, value + more)
    return found


def _simple(walk: Walk, rounds: int) -> tuple[dict[str, int], int]:
    """A bound without telling paths apart: visits of each node, and rounds opened after the first.

    A path is cut into stretches by what is counted: openings of rounds, first arrivals at boundaries, entries of error
    nodes, the entry of `on_limit`. In a stretch no node comes twice, since every cycle passes one of these.
    """
    workflow = walk.workflow
    looping = workflow.shape.looping
    starts = [id for id in walk.reached if walk.nodes[id].starts_round]
    handlers = {edge.target for edge in workflow.shape.edges if edge.kind == "error"}
    turns = rounds if any(id in looping for id in starts) else 1
    most = turns + len(starts) + turns * len(handlers) + (workflow.on_limit is not None)
    return {id: most if id in looping else 1 for id in walk.reached}, turns - 1
