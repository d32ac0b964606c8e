"""Boxes: what the fields may hold after one path, each for itself; split by conditions without losing a case.

A box is a mapping from path to mask. A path that it does not name is absent for sure, or no longer matters. Splitting by a
condition gives boxes that are disjoint and together are what was there, so nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.proof.domain import ABSENT, Case, Domain, domain_of

if TYPE_CHECKING:
    from agentflow.graph.schema import FieldSpec, Schema
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
    """The finite picture of a workflow's data: a domain for each path that is named anywhere.

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
                    tests.setdefault(_variable(test), []).append(test)
        self._schema = workflow.schema
        self._tests = tests
        self._domains: dict[str, Domain] = {}
        # Paths below a field, and questions whether it contains something, are settled anew whenever it is written.
        self._below: dict[str, list[str]] = {}
        for name in tests:
            field = name.partition(".")[0].partition("?")[0]
            if field != name:
                self._below.setdefault(field, []).append(name)

    def domain(self, name: str) -> Domain:
        """The domain of a path."""
        found = self._domains.get(name)
        if found is None:
            asked = self._tests.get(name, ())
            if "?" in name:
                yes, no = Case(True, "so"), Case(False, "not so")
                found = Domain(name.replace("?", " contains "), (yes, no), dict.fromkeys(asked, 2))
            else:
                found = domain_of(name, annotation_at(self._schema, name), asked)
            self._domains[name] = found
        return found

    def write(self, box: Box, field: str, *, sure: bool) -> None:
        """Note that a field gets any value it may hold; `sure` says whether it is written in any case."""
        mask = self.domain(field).present
        box[field] = mask if sure else box.get(field, ABSENT) | mask
        for name in self._below.get(field, ()):
            below = self.domain(name).present | (0 if self._sure_below(name) else ABSENT)
            box[name] = below if sure else box.get(name, ABSENT) | below

    def _sure_below(self, name: str) -> bool:
        """Whether a path below a field exists whenever the field does, by the types on the way."""
        if "?" in name:
            return True
        first, *rest = name.split(".")
        annotation = annotation_at(self._schema, first)
        for part in rest:
            spec = _spec_below(annotation, part)
            if spec is None or not (spec.required or spec.default is not None):
                return False
            annotation = spec.annotation
        return True

    def narrow(self, box: Box, field: str, default: Callable[[], Any]) -> None:
        """Note that a field holds its default, where that can be told."""
        try:
            value = default()
        except Exception:
            # A factory of the author's may fail; then the run will, and nothing is known here.
            return
        box[field] = self.domain(field).mask_of(value) or box[field]

    def masks(self, test: Test) -> tuple[str, int]:
        """The path that a test looks at, and the cases in which it is true."""
        name = _variable(test)
        domain = self.domain(name)
        return name, domain.present if test.op == "exists" else domain.asked[test]

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

    def _split_by_test(self, test: Test, box: Box) -> tuple[list[Box], list[Box]]:
        name, true = self.masks(test)
        mask = box.get(name, ABSENT)
        field = test.path[0]
        yes, no = mask & true, mask & ~true
        holds: list[Box] = []
        if yes:
            there = box.get(field, ABSENT) & ~ABSENT
            # What lies below a field exists only where the field does.
            if field == name or there:
                holds.append(
                    {**box, field: there, name: yes} if field != name else {**box, name: yes}
                )
        return holds, [{**box, name: no}] if no else []

    def keep(self, box: Box, live: frozenset[str]) -> Box:
        """The box without what no longer matters."""
        return {
            name: mask
            for name, mask in box.items()
            if name.partition(".")[0].partition("?")[0] in live
        }

    def describe(self, box: Mapping[str, int], names: Iterable[str]) -> str:
        """What a box says of some paths, in words."""
        said = [self.domain(name).describe(box.get(name, ABSENT)) for name in sorted(set(names))]
        return ", ".join(said)


def _variable(test: Test) -> str:
    name = ".".join(map(str, test.path))
    return f"{name}?{test.value!r}" if test.op == "contains" else name


def annotation_at(schema: Schema, name: str) -> Any:
    """The type at a dotted path, `Any` where it cannot be told."""
    if not schema.typed:
        return Any
    first, *rest = name.split(".")
    spec = schema.fields.get(first)
    annotation: Any = Any if spec is None else spec.annotation
    for part in rest:
        annotation = _below(annotation, part)
    return annotation


def _below(annotation: Any, part: str) -> Any:
    spec = _spec_below(annotation, part)
    return Any if spec is None else spec.annotation


def _spec_below(annotation: Any, part: str) -> FieldSpec | None:
    from agentflow.graph.schema import schema_of
    from agentflow.graph.typeddict import is_typeddict

    if not (is_typeddict(annotation) or isinstance(annotation, type)):
        return None
    return schema_of(annotation).fields.get(part)
