"""One visit in the picture: what may follow from a point, and what may go wrong there, in the engine's own order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from agentflow.graph.condition import PRESENCE, Condition, Test
from agentflow.graph.proof.box import Box, freeze_box
from agentflow.graph.proof.domain import ABSENT
from agentflow.graph.proof.points import Expansion, Lack, LackKind, Passage, Point, Step

if TYPE_CHECKING:
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.route import Route

__all__ = ["Expander"]


class Expander:
    """Works out what may follow from one point, in the order in which the engine makes a visit."""

    def __init__(self, walk: Walk, point: Point) -> None:
        self.walk = walk
        self.point = point
        self.node = walk.nodes[point.node]
        self.picture = walk.picture
        self.steps: list[Step] = []
        self.taken: set[int] = set()
        self.lacks: list[Lack] = []

    def expansion(self) -> Expansion:
        box = dict(self.point.box)
        self.walk.forget(self.point.node, box)
        if self._require(box):
            passage = self._watched(box)
            self._fail(box, passage.failed)
            if passage.after is not None:
                self._succeed(dict(box), passage.after)
        return Expansion(tuple(self.steps), tuple(self.lacks), frozenset(self.taken))

    def _require(self, box: Box) -> bool:
        return all(self._need(box, name, "requires") for name in self.node.requires)

    def _need(self, box: Box, name: str, kind: LackKind, route: Route | None = None) -> bool:
        """Note when a field may be missing, and go on with the runs in which it is not; false if there are none."""
        mask = box.get(name, ABSENT)
        if mask & ABSENT:
            self.lacks.append(Lack(kind, name, route, freeze_box(box)))
            mask &= ~ABSENT
            box[name] = mask
        return bool(mask)

    def _watched(self, box: Box) -> Passage:
        seen = self.point.seen
        if self.walk.monitor is None:
            return Passage(seen, seen)
        passage = self.walk.monitor.visit(seen, self.node, box, self.picture)
        self.walk.merged |= passage.merged
        if passage.objection is not None:
            self.lacks.append(passage.objection)
        return passage

    def _fail(self, box: Box, seen: int) -> None:
        handler = self.node.on_error or self.walk.workflow.on_error
        if handler is None or handler == self.node.id or self.point.failed:
            return
        if handler not in self.point.handled:
            self._enter("error", None, handler, box, seen, error=True)

    def _succeed(self, box: Box, seen: int) -> None:
        for name in self.node.provides:
            self.picture.write(box, name, sure=True)
        for name in self.node.may_provide:
            self.picture.write(box, name, sure=False)
        rest, certain = [box], True
        for at, route in enumerate(self.node.routes):
            matched, rest, decided = self._match(route, rest)
            certain = certain and decided
            if matched:
                self.taken.add(at)
            for one in matched:
                self._take(route, one, seen)
        kind: LackKind = "uncovered" if certain else "unproved"
        self.lacks.extend(Lack(kind, box=freeze_box(one)) for one in rest)

    def _match(self, route: Route, boxes: list[Box]) -> tuple[list[Box], list[Box], bool]:
        """The parts of what may be that a route takes and leaves, and whether that is certain."""
        if route.when is None:
            return boxes, [], True
        matched: list[Box] = []
        rest: list[Box] = []
        if isinstance(route.when, Condition):
            notice = self._noticed(route)
            for box in boxes:
                yes, no = self.picture.split(route.when, box, notice)
                matched += yes
                rest += no
            return matched, rest, True
        for box in boxes:
            read = dict(box)
            if all(self._need(read, name, "reads", route) for name in route.reads or ()):
                matched.append(read)
                rest.append(dict(read))
        return matched, rest, False

    def _noticed(self, route: Route) -> Callable[[Test, Box], None]:
        def notice(test: Test, box: Box) -> None:
            raising = self.picture.raising(test, box)
            if raising and self.picture.typed(test):
                here = freeze_box({**box, test.path[0]: raising})
                self.lacks.append(Lack("raises", ".".join(test.path), route, here))
            if test.op not in PRESENCE and box.get(test.path[0], ABSENT) & ABSENT:
                self.lacks.append(Lack("condition", test.path[0], route, freeze_box(box)))

        return notice

    def _take(self, route: Route, box: Box, seen: int) -> None:
        match route.kind:
            case "to":
                assert route.target is not None
                self._enter("route", route, route.target, box, seen)
            case "deliver":
                assert route.field is not None
                if self._need(box, route.field, "deliver", route):
                    self.steps.append(Step("end", route, freeze_box(box), seen=seen))
            case "finish":
                names: Iterable[str] = route.reads or ()
                if route.when is not None and not isinstance(route.when, Condition):
                    names = ()  # seen to already: reads tell of the condition and the function together
                if all(self._need(box, name, "finish", route) for name in names):
                    self.steps.append(Step("end", route, freeze_box(box), seen=seen))

    def _enter(
        self,
        kind: Literal["route", "error"],
        route: Route | None,
        target: str,
        box: Box,
        seen: int,
        *,
        error: bool = False,
    ) -> None:
        frozen = freeze_box(box)
        for point, opens, limit in self.walk.arrivals(target, box, self.point, seen, error=error):
            self.steps.append(Step(kind, route, frozen, point, opens, limit, seen))
