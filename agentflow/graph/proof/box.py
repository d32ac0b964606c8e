"""Boxes: what the fields may hold after one path, each for itself; split by conditions without losing a case.

A box is a mapping from field to mask. A field that it does not name is absent for sure, or no longer matters. Splitting by a
condition gives boxes that are disjoint and together are what was there, but for what the condition cannot be asked of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.proof.annotation import annotation_at, members, unknown
from agentflow.graph.proof.domain import ABSENT, Domain, domain_of
from agentflow.graph.proof.parts import field_below, is_told

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["Box", "Frozen", "Picture", "freeze_box", "tests_of"]

Box = dict[str, int]
Frozen = tuple[tuple[str, int], ...]
Noticed = Callable[[Test, Box], None]


def freeze_box(box: Mapping[str, int]) -> Frozen:
    """The box as a key."""
    return tuple(sorted(box.items()))


def tests_of(condition: Condition) -> Iterable[Test]:
    """Every test in a condition."""
    match condition:
        case Test():
            yield condition
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from tests_of(part)
        case Not(part):
            yield from tests_of(part)


class Picture:
    """The finite picture of a workflow's data: a domain for each field that is named anywhere.

    Args:
        workflow: The workflow.
        asked: Further conditions, besides those of its routes, that are to be told apart.
    """

    def __init__(self, workflow: Workflow[Any], asked: Iterable[Condition] = ()) -> None:
        tests: dict[str, list[Test]] = {}
        conditions = [*(route.when for node in workflow.nodes for route in node.routes), *asked]
        for condition in conditions:
            if isinstance(condition, Condition):
                for test in tests_of(condition):
                    tests.setdefault(test.path[0], []).append(test)
        self._schema = workflow.schema
        self._tests = tests
        self._domains: dict[str, Domain] = {}

    @property
    def coarse(self) -> bool:
        """Whether some field has too many cases to tell apart."""
        return any(domain.coarse for domain in self._domains.values())

    def domain(self, name: str) -> Domain:
        """The domain of a field."""
        found = self._domains.get(name)
        if found is None:
            annotation = annotation_at(self._schema, name)
            found = self._domains[name] = domain_of(name, annotation, self._tests.get(name, ()))
        return found

    def write(self, box: Box, field: str, *, sure: bool) -> None:
        """Note that a field gets any value it may hold; `sure` says whether it is written in any case."""
        mask = self.domain(field).present
        box[field] = mask if sure else box.get(field, ABSENT) | mask

    def narrow(self, box: Box, field: str, default: Callable[[], Any]) -> None:
        """Note that a field holds its default, where that can be told."""
        try:
            value = self._schema.fields[field].value.accept(default())
        except Exception:
            # The field refuses its own default, which has been said already.
            return
        box[field] = self.domain(field).mask_of(value) or box[field]

    def masks(self, test: Test) -> tuple[str, int]:
        """The field that a question is about, and the cases in which it is true."""
        return test.path[0], self.domain(test.path[0]).true[test]

    def typed(self, test: Test) -> bool:
        """Whether the type of what a question is about is known, so that the author can tell where asking raises."""
        annotations: tuple[Any, ...] = (annotation_at(self._schema, test.path[0]),)
        for part in test.path[1:]:
            kinds = [kind for one in annotations for kind in members(one)]
            if not all(is_told(kind, part) for kind in kinds):
                return False
            fields = [field_below(kind, part) for kind in kinds]
            annotations = tuple(spec.annotation for spec in fields if spec is not None)
        kinds = [kind for one in annotations for kind in members(one)]
        return bool(kinds) and not any(map(unknown, kinds))

    def raising(self, test: Test, box: Box) -> int:
        """The cases of a box in which asking raises, so that a run ends with a contract error."""
        domain = self.domain(test.path[0])
        mask = box.get(test.path[0], ABSENT) & ~ABSENT
        return mask & ~domain.true[test] & ~domain.false[test]

    def split(
        self, condition: Condition, box: Box, noticed: Noticed
    ) -> tuple[list[Box], list[Box]]:
        """The parts of a box in which a condition holds, and those in which it does not.

        Args:
            condition: The condition.
            box: What may be.
            noticed: Told of every test with the part of the box that it is asked of.
        """
        match condition:
            case Test():
                noticed(condition, box)
                return self._split_by_test(condition, box)
            case Not(part):
                yes, no = self.split(part, box, noticed)
                return no, yes
            case AllOf(parts):
                holds, fails = [box], []
                for part in parts:
                    left: list[Box] = []
                    for one in holds:
                        yes, no = self.split(part, one, noticed)
                        left += yes
                        fails += no
                    holds = left
                return holds, fails
            case AnyOf(parts):
                holds, fails = [], [box]
                for part in parts:
                    left = []
                    for one in fails:
                        yes, no = self.split(part, one, noticed)
                        holds += yes
                        left += no
                    fails = left
                return holds, fails
        raise TypeError(f"{condition!r} is no condition as data")

    def failing(self, condition: Condition, box: Box) -> list[Box]:
        """The parts of a box in which a condition does not hold, or cannot be asked."""
        refused: list[Box] = []

        def notice(test: Test, here: Box) -> None:
            if raising := self.raising(test, here):
                refused.append({**here, test.path[0]: raising})

        return [*self.split(condition, box, notice)[1], *refused]

    def _split_by_test(self, test: Test, box: Box) -> tuple[list[Box], list[Box]]:
        name = test.path[0]
        domain, mask = self.domain(name), box.get(name, ABSENT)
        yes, no = mask & domain.true[test], mask & (domain.false[test] | ABSENT)
        return [{**box, name: yes}] if yes else [], [{**box, name: no}] if no else []

    def keep(self, box: Box, live: frozenset[str]) -> Box:
        """The box without what no longer matters."""
        return {name: mask for name, mask in box.items() if name in live}

    def describe(self, box: Mapping[str, int], names: Iterable[str]) -> str:
        """What a box says of some paths, in words."""
        said = []
        for name in sorted(set(names)):
            field, *below = name.split(".")
            said.append(self.domain(field).describe(box.get(field, ABSENT), below))
        return ", ".join(said)
