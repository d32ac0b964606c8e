"""Paths: whatever a condition looks at below a field can be there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from agentflow.graph.condition import Condition
from agentflow.graph.findings import Finding
from agentflow.graph.fit.below import below
from agentflow.graph.fit.spelling import spelled
from agentflow.graph.proof.box import tests_of
from agentflow.graph.schema import schema_of

if TYPE_CHECKING:
    from agentflow.graph.schema import Schema
    from agentflow.graph.workflow import Workflow


class Gap(NamedTuple):
    """Where a path leads to nothing: the part that no value has, what comes before it, and the classes that lack it."""

    before: tuple[str, ...]
    part: str
    classes: tuple[type, ...]

    def __str__(self) -> str:
        lacking = " and ".join(spelled(kind) for kind in self.classes)
        return f"{'.'.join((*self.before, self.part))!r}, and {lacking} has no {self.part!r}"

    def hint(self) -> str:
        """What to do about it."""
        known = [name for kind in self.classes for name in schema_of(kind).fields]
        close = difflib.get_close_matches(self.part, known, n=1)
        if close:
            return f"did you mean {'.'.join((*self.before, close[0]))!r}?"
        return f"add {self.part!r} to {spelled(self.classes[0])}"


def gap(schema: Schema, path: tuple[str, ...]) -> Gap | None:
    """Where a path leads to nothing for every value of its field's type; `None` if it may lead to something."""
    name, *parts = path
    spec = schema.fields.get(name)
    types: list[Any] = [] if spec is None else [spec.annotation]
    for at, part in enumerate(parts, 1):
        told = [below(annotation, part) for annotation in types]
        if any(one.open for one in told):
            return None
        types = [annotation for one in told for annotation in one.found]
        without = dict.fromkeys(kind for one in told for kind in one.without)
        if not types:
            return Gap(path[:at], part, tuple(without)) if without else None
    return None


def gaps(schema: Schema, condition: Condition) -> Iterator[Gap]:
    """Where the paths of a condition lead to nothing, each told once."""
    found = (gap(schema, path) for path in dict.fromkeys(test.path for test in tests_of(condition)))
    yield from dict.fromkeys(one for one in found if one is not None)


def possible(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No condition looks below a field at what none of its values has."""
    for node in workflow.nodes:
        for route in node.routes:
            if not isinstance(route.when, Condition):
                continue
            for found in gaps(workflow.schema, route.when):
                yield Finding(
                    code="AF127",
                    message=f"a route of node {node.id!r} ({route}) looks at {found}",
                    hint=found.hint(),
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )


CHECKS = (possible,)
