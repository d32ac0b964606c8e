"""Values: concrete samples of what each field may hold, made without a look at types and sifted by the engine's contracts.

Samples are drawn from one pool for all types: whatever a condition names, what lies beside and between it, texts and lists
that contain it, mappings that hold it below. The contract of the field says which of them it accepts, and as what. Two
values that answer every question about the field alike are one.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow import Workflow
from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test

__all__ = ["ABSENT", "Level", "Samples", "ask", "conditions_of", "questions", "samples_of"]

Samples = Mapping[str, tuple[Any, ...]]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()
"""Stands for a field that does not exist."""


@dataclass(frozen=True)
class Other:
    """A value of a class that no schema has heard of, with nothing below it."""


class Level(enum.Enum):
    """How urgent."""

    LOW = 1
    HIGH = 2


_OTHER = Other()
_EVERYTHING = ("new", "open", "done", "a", "b", "on", "off", *Level)
"""What the types of the tests list, and no condition need name."""


def questions(condition: object) -> Iterator[Test]:
    """Every question that a condition asks, in the order in which it is written."""
    if isinstance(condition, Test):
        yield condition
    elif isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from questions(part)
    elif isinstance(condition, Not):
        yield from questions(condition.part)


def conditions_of(workflow: Workflow[Any]) -> Iterator[Condition]:
    """Every condition as data that a workflow states."""
    for node in workflow.nodes:
        for route in node.routes:
            if isinstance(route.when, Condition):
                yield route.when
    for policy in workflow.policies:
        if policy.condition is not None:
            yield policy.condition


def ask(test: Test, name: str, value: Any) -> bool | str:
    """What one question says of a state in which only `name` is set; `"raises"` where it raises."""
    state = {} if value is ABSENT else {name: value}
    try:
        return test(state)
    except Exception:
        return "raises"


def samples_of(
    workflow: Workflow[Any], names: Iterable[str], further: Iterable[Condition] = ()
) -> Samples:
    """For each field the values that stand for all it may hold, under the conditions of a workflow and further ones."""
    asked: dict[str, list[Test]] = {name: [] for name in names}
    for condition in (*conditions_of(workflow), *further):
        for test in questions(condition):
            asked.setdefault(test.path[0], []).append(test)
    return {name: _distinct(workflow, name, tests) for name, tests in asked.items()}


_KNOWN: dict[Any, tuple[Any, ...]] = {}


def _distinct(workflow: Workflow[Any], name: str, tests: list[Test]) -> tuple[Any, ...]:
    key = workflow.state, name, tuple(map(repr, tests))
    if key in _KNOWN:
        return _KNOWN[key]
    spec = workflow.schema.fields.get(name)
    found: dict[tuple[bool | str, ...], Any] = {}
    for value in _pool(tests, _accepting(spec.value.accept) if spec is not None else _anything):
        found.setdefault(tuple(ask(test, name, value) for test in tests), value)
    assert found, f"no sample is a value of {name!r}: {spec}"
    _KNOWN[key] = tuple(found.values())
    return _KNOWN[key]


def _anything(value: Any) -> tuple[Any, ...]:
    return (value,)


def _accepting(accept: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def accepted(value: Any) -> tuple[Any, ...]:
        try:
            return (accept(value),)
        except Exception:
            return ()

    return accepted


def _pool(tests: list[Test], accepted: Callable[[Any], tuple[Any, ...]]) -> Iterator[Any]:
    for value in _values([(test.path[1:], test) for test in tests], depth=2):
        yield from accepted(value)


_Asked = list[tuple[tuple[str, ...], Test]]


def _values(asked: _Asked, depth: int) -> Iterator[Any]:
    """Values of every kind, which the questions asked of this path and of those below it tell apart."""
    here = [test for rest, test in asked if not rest]
    yield from _plain(here)
    below: dict[str, _Asked] = {}
    for rest, test in asked:
        if rest:
            below.setdefault(rest[0], []).append((rest[1:], test))
    if below and depth:
        parts = [
            [(part, value) for value in (ABSENT, *_values(below[part], depth - 1))]
            for part in below
        ]
        for chosen in itertools.product(*parts):
            filled = {**_FILLING, **dict(chosen)}
            yield {part: value for part, value in filled.items() if value is not ABSENT}
    elif depth:
        yield _FILLING


_FILLING = {"status": "on", "load": 0, "name": "filled"}
"""What classes of the tests need below a field although nothing asks for it; the contract drops what is unknown."""


def _plain(tests: list[Test]) -> Iterator[Any]:
    named = [value for test in tests for value in _constants(test)]
    yield from (None, False, True)
    yield from named
    for value in named:
        if isinstance(value, enum.Enum):
            yield from type(value)
    yield from _numbers(named)
    contained = [test.value for test in tests if test.op == "contains"]
    yield from _texts(named, contained)
    for items in _subsets(contained):
        yield list(items)
        yield [*items, "something"]
    yield from _EVERYTHING
    yield _OTHER


def _constants(test: Test) -> tuple[Any, ...]:
    if test.op in ("exists", "is_none", "contains"):
        return ()
    return test.value if isinstance(test.value, tuple) else (test.value,)


def _numbers(named: list[Any]) -> Iterator[Any]:
    given = [value for value in named if isinstance(value, int | float)]
    finite = sorted({*(value for value in given if math.isfinite(value)), 0})
    for value in finite:
        yield from (
            math.floor(value),
            math.ceil(value),
            math.floor(value) - 1,
            math.ceil(value) + 1,
        )
        yield from (value - 0.25, value + 0.25)
    yield from (finite[0] - 1000, finite[-1] + 1000, -math.inf, math.inf)


def _texts(named: list[Any], contained: list[Any]) -> Iterator[str]:
    starts = ["", "\0", "~"]
    for value in named:
        if isinstance(value, str):
            starts += [value, value + "\0", value + "~"]
    parts = [value for value in contained if isinstance(value, str)]
    for start in starts:
        for chosen in _subsets(parts):
            yield start + "\0".join(chosen)


def _subsets(items: list[Any]) -> Iterator[tuple[Any, ...]]:
    unique = [item for at, item in enumerate(items) if item not in items[:at]]
    for size in range(len(unique) + 1):
        yield from itertools.combinations(unique, size)
