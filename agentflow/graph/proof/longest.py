"""The longest walks: worst cases of everything a run counts, in closed form.

Inside a round the points form no cycle, so the longest way through is found in one pass. From round to round the counts follow a
matrix over the points that open a round, with `max` for sum and `+` for product; so the worst of n rounds is a power of
that matrix, found by squaring: the work grows with the logarithm of `max_rounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.bounds import Bound, Bounds, Cost, cost_of
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.points import Point

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["bounds"]

_MOST_OPENINGS: Final = 24
"""How many points that open a round the matrix may have; with more, the simple bound is taken."""

Weight = Callable[[str], int]
Row = dict[Point, int]


def bounds(workflow: Workflow[Any]) -> Bounds:
    """The worst case of a workflow whose structure is sound."""
    walk = Walk(workflow)
    costs = {id: cost_of(walk.nodes[id]) for id in walk.nodes if id in walk.reached}
    rounds = 1 if workflow.max_rounds is None else workflow.max_rounds
    longest = None if walk.merged else _Longest.of(walk, rounds)
    counts = _simple(walk, rounds) if longest is None else None

    def worst(weight: Weight, opening: int = 0) -> int:
        if longest is not None:
            return longest.worst(weight, opening)
        assert counts is not None
        return opening * counts[1] + sum(weight(id) * count for id, count in counts[0].items())

    def bound(name: str, opening: int = 0) -> Bound:
        reason = next((cost.reason for cost in costs.values() if getattr(cost, name) is None), "")
        if any(getattr(cost, name) is None for cost in costs.values()):
            return Bound(None, reason)
        return Bound(opening + worst(lambda node: _amount(costs, node, name), opening))

    own_rounds = 1 + worst(lambda _: 0, 1)
    return Bounds(
        rounds_of_workflow=own_rounds,
        rounds=bound("rounds", 1),
        visits=bound("visits"),
        node_visits={id: _visits_of(walk, worst, id) for id in walk.nodes},
        model_calls=bound("model_calls"),
        tool_calls=bound("tool_calls"),
        exact=longest is not None,
    )


def _amount(costs: Mapping[str, Cost], id: str, name: str) -> int:
    # A node to which rounds do not suffice is a point of the matrix all the same.
    amount: int = getattr(costs[id], name) if id in costs else 0
    return amount


def _visits_of(walk: Walk, worst: Callable[[Weight], int], id: str) -> int:
    if id not in walk.reached:
        return 0
    if id not in walk.workflow.shape.looping:
        return 1
    return worst(lambda other: int(other == id))


class _Longest:
    """The longest walks over the points of one walk, for any weight of visits."""

    def __init__(self, walk: Walk, rounds: int, order: list[Point], openings: list[Point]) -> None:
        self.walk = walk
        self.rounds = rounds
        self.order = (
            order  # every point, those that lead on inside a round before those they lead to
        )
        self.openings = openings

    @classmethod
    def of(cls, walk: Walk, rounds: int) -> _Longest | None:
        """The points in order, or `None` where they are too many to be told apart."""
        openings: list[Point] = [walk.first]
        ways: dict[Point, list[Point]] = {}
        waiting = [walk.first]
        while waiting:
            point = waiting.pop()
            if point in ways:
                continue
            ways[point] = []
            for step in walk.expand(point).steps:
                if step.target is None:
                    continue
                if step.opens:
                    if step.target not in openings:
                        openings.append(step.target)
                    waiting.extend(p for p in (step.target, step.limit) if p is not None)
                else:
                    ways[point].append(step.target)
                    waiting.append(step.target)
        if walk.merged or len(openings) > _MOST_OPENINGS:
            return None
        return cls(walk, rounds, _sorted(ways), openings)

    def worst(self, weight: Weight, opening: int = 0) -> int:
        """The largest sum of `weight` over the visits of a run, with `opening` for each further round."""
        stay, go, limit = self._inside(weight, opening)
        matrix = {a: go[a] for a in self.openings}
        first = self.walk.first
        after = _power(matrix, self.rounds - 1, {first: 0}, stopping=True)
        best = max(value + stay[point] for point, value in after.items())
        last = _power(matrix, self.rounds - 1, {first: 0}, stopping=False)
        return max([best, *(value + limit[p] for p, value in last.items() if p in limit)])

    def _inside(
        self, weight: Weight, opening: int
    ) -> tuple[dict[Point, int], dict[Point, Row], dict[Point, int]]:
        """From each point, inside its round: the most on any way, to each next opening, and on to `on_limit`."""
        stay: dict[Point, int] = {}
        go: dict[Point, Row] = {}
        limit: dict[Point, int] = {}
        for point in reversed(self.order):
            own = weight(point.node)
            most, out = 0, Row()
            past: int | None = None
            for step in self.walk.expand(point).steps:
                if step.target is None:
                    continue
                if step.opens:
                    out[step.target] = max(out.get(step.target, 0), opening)
                    if step.limit is not None:
                        past = max(past or 0, stay[step.limit])
                    continue
                most = max(most, stay[step.target])
                for target, value in go[step.target].items():
                    out[target] = max(out.get(target, 0), value)
                if step.target in limit:
                    past = max(past or 0, limit[step.target])
            stay[point] = own + most
            go[point] = {target: own + value for target, value in out.items()}
            if past is not None:
                limit[point] = own + past
        return stay, go, limit


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
            row[point] = max(row.get(point, 0), 0)
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
            if found.get(target, -1) < value + more:
                found[target] = value + more
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
