"""Conditions as data: comparisons of state fields that can be drawn, stored and proved.

A path is dotted: its first part names a state field, the others keys of mappings or attributes. A comparison of a path
that does not exist is false, whatever the operator; `field("x").exists()` tells presence apart.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from agentflow.graph.excerpt import excerpt
from agentflow.graph.slips import identifier

__all__ = ["AllOf", "AnyOf", "Condition", "FieldPath", "Not", "Test", "field"]

Predicate = Callable[[Mapping[str, Any]], bool]

MISSING: Any = object()
"""Stands for a value that is not there."""


def lookup(path: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    """A function that finds `path` in a state, or returns `MISSING`."""
    first, rest = path[0], path[1:]
    # Never `state.get(…)`: a state with attributes may have a field of that name.
    if not rest:
        return lambda state: state[first] if first in state else MISSING  # noqa: SIM401

    def find(state: Mapping[str, Any]) -> Any:
        value = state[first] if first in state else MISSING  # noqa: SIM401
        for part in rest:
            if value is MISSING:
                return MISSING
            if isinstance(value, Mapping):
                value = value.get(part, MISSING)
            else:
                value = getattr(value, part, MISSING)
        return value

    return find


class Condition:
    """A condition on the state that is data, not code; callable as `condition(state) -> bool`.

    Combine with `&`, `|` and `~`. `and`, `or`, `not` and chained comparisons would silently drop a half, so asking a
    condition for its truth raises `TypeError`.
    """

    @cached_property
    def predicate(self) -> Predicate:
        """The condition as a function, made once."""
        return self._compile()

    def __call__(self, state: Mapping[str, Any]) -> bool:
        return self.predicate(state)

    def _compile(self) -> Predicate:
        raise TypeError(f"{type(self).__name__} is no condition that can be evaluated")

    def reads(self) -> frozenset[str]:
        """The state fields that the condition looks at."""
        return frozenset()

    def __and__(self, other: Condition) -> Condition:
        return AllOf((self, _condition(other)))

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((self, _condition(other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a condition has no truth value by itself: combine conditions with & | ~ instead of "
            f"'and', 'or', 'not' or a chained comparison (in: {self})"
        )


def _condition(other: object) -> Condition:
    if not isinstance(other, Condition):
        raise TypeError(f"{excerpt(other)} is no condition; start it with field('…')")
    return other


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PRESENCE = ("exists", "is_none")
"""The operators that compare with nothing."""

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "is_in", "contains", *PRESENCE)
"""What a `Test` may ask, in the spelling of the declarative form."""


@dataclass(frozen=True)
class Test(Condition):
    """One question about one path: `op` is one of `OPERATORS`, `value` what it is compared with."""

    __test__ = False

    path: tuple[str, ...]
    op: str
    value: Any = None

    def __hash__(self) -> int:
        try:
            return hash((self.path, self.op, self.value))
        except TypeError:
            # The value may be a list, which has no hash.
            return hash((self.path, self.op))

    def reads(self) -> frozenset[str]:
        return frozenset(self.path[:1])

    def __str__(self) -> str:
        name = ".".join(self.path)
        match self.op:
            case "exists" | "is_none":
                return f"{name} {self.op.replace('_', ' ')}"
            case "is_in":
                values = self.value if isinstance(self.value, tuple) else (self.value,)
                return f"{name} in [{', '.join(map(excerpt, values))}]"
            case _:
                return f"{name} {self.op} {excerpt(self.value)}"

    def _compile(self) -> Predicate:
        find, value = lookup(self.path), self.value
        match self.op:
            case "==" if len(self.path) == 1:
                # By far the most common question, often asked in long rows: it spares a call.
                name = self.path[0]
                return lambda state: name in state and bool(state[name] == value)
            case "exists":
                return lambda state: find(state) is not MISSING
            case "is_none":
                return lambda state: find(state) is None
            case "==":
                return lambda state: (found := find(state)) is not MISSING and bool(found == value)
            case "!=":
                return lambda state: (found := find(state)) is not MISSING and bool(found != value)
            case "is_in":
                return lambda state: (found := find(state)) is not MISSING and found in value
            case "contains":
                return lambda state: (found := find(state)) is not MISSING and value in found
            case op:
                compare = _ORDER[op]
                return lambda state: (
                    (found := find(state)) is not MISSING and bool(compare(found, value))
                )


@dataclass(frozen=True)
class AllOf(Condition):
    """True when every part is."""

    parts: tuple[Condition, ...]

    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.reads() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(_bracketed(part) for part in self.parts)

    def _compile(self) -> Predicate:
        tests = tuple(part.predicate for part in self.parts)
        return lambda state: all(test(state) for test in tests)


@dataclass(frozen=True)
class AnyOf(Condition):
    """True when at least one part is."""

    parts: tuple[Condition, ...]

    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.reads() for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(_bracketed(part) for part in self.parts)

    def _compile(self) -> Predicate:
        tests = tuple(part.predicate for part in self.parts)
        return lambda state: any(test(state) for test in tests)


@dataclass(frozen=True)
class Not(Condition):
    """True when its part is not."""

    part: Condition

    def reads(self) -> frozenset[str]:
        return self.part.reads()

    def __str__(self) -> str:
        return f"not {_bracketed(self.part)}"

    def _compile(self) -> Predicate:
        test = self.part.predicate
        return lambda state: not test(state)


def _bracketed(part: Condition) -> str:
    return f"({part})" if isinstance(part, AllOf | AnyOf) else str(part)


class FieldPath:
    """A state field, or what lies below it, waiting for a comparison that makes it a condition."""

    __slots__ = ("_path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: str) -> None:
        # A malformed path is kept: the definition that uses it reports it.
        self._path = identifier(path)

    def _test(self, op: str, value: object = None) -> Test:
        return Test(tuple(self._path.split(".")), op, value)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._test("==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._test("!=", other)

    def __lt__(self, other: object) -> Condition:
        return self._test("<", other)

    def __le__(self, other: object) -> Condition:
        return self._test("<=", other)

    def __gt__(self, other: object) -> Condition:
        return self._test(">", other)

    def __ge__(self, other: object) -> Condition:
        return self._test(">=", other)

    def is_in(self, values: Collection[object]) -> Condition:
        """True when the value is one of `values`."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            # Kept as it is: the definition that uses it reports it.
            return self._test("is_in", values)
        # A set has another order in every process, and the order is part of the workflow's fingerprint.
        ordered = sorted(values, key=repr) if isinstance(values, Set) else values
        return self._test("is_in", tuple(ordered))

    def contains(self, value: object) -> Condition:
        """True when the field holds a container (or text) in which `value` is."""
        return self._test("contains", value)

    def exists(self) -> Condition:
        """True when the path is there; `None` counts as there."""
        return self._test("exists")

    def is_none(self) -> Condition:
        """True when the path is there and holds `None`."""
        return self._test("is_none")

    def __bool__(self) -> NoReturn:
        raise TypeError(f"field({self._path!r}) is no condition yet: compare it, or ask .exists()")

    def __repr__(self) -> str:
        return f"field({self._path!r})"


def field(path: str) -> FieldPath:
    """Start a condition on a dotted path of the state, as in `field("service.status") == "online"`."""
    return FieldPath(path)


def ready(name: str) -> Condition:
    """True when the field `name` exists and is not `None`."""
    return AllOf((Test((name,), "exists"), Not(Test((name,), "is_none"))))
