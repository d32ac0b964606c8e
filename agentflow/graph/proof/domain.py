"""Domains: what a field may hold, cut into the cases that the conditions of a workflow tell apart.

Two values that answer every condition alike are one case. So a `Literal` has a case for each of its values, a number that is
compared with 10 has the cases below, at and above 10, and a field that nothing looks into has just one. Absence is
a case too. A set of cases is an int, one bit a case.
"""

from __future__ import annotations

import enum
import math
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin

from agentflow.graph.condition import Test

__all__ = ["ABSENT", "Domain", "domain_of"]

ABSENT = 1
"""The case that the field does not exist; bit 0 of every mask."""

_ORDERING = frozenset({"<", "<=", ">", ">="})


class _Other:
    """A value that is none of those that any condition names."""

    def __repr__(self) -> str:
        return "another value"


OTHER: Any = _Other()


@dataclass(frozen=True, slots=True)
class Case:
    """One case: a value that stands for all of its kind, and how to speak of it."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Domain:
    """The cases of one path of the state.

    Args:
        name: The dotted path.
        cases: Its cases; case `i` is bit `i + 1` of a mask.
        asked: The answer of each test, as the mask of the cases for which it is true.
    """

    name: str
    cases: tuple[Case, ...]
    asked: dict[Test, int] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """The mask of everything the path may hold when it exists."""
        return (1 << (len(self.cases) + 1)) - 2

    @property
    def none(self) -> int:
        """The mask of the case `None`, 0 if the path cannot hold it."""
        return sum(2 << at for at, case in enumerate(self.cases) if case.value is None)

    def mask_of(self, value: Any) -> int:
        """The cases that a value may be of: those that answer every test as it does."""
        mine = [answers(test, value) for test in self.asked]
        return sum(
            2 << at
            for at, case in enumerate(self.cases)
            if (case.value is None) == (value is None)
            and mine == [bool(mask & 2 << at) for mask in self.asked.values()]
        )

    def describe(self, mask: int) -> str:
        """A mask in words: `status is 'on' or 'off'`, `answer is missing`."""
        texts = [case.text for at, case in enumerate(self.cases) if mask & 2 << at]
        if mask & ABSENT:
            texts.append("missing")
        return f"{self.name} is {_either(texts)}"

    def choices(self) -> str:
        """Everything the path may hold, in words."""
        return _either([case.text for case in self.cases])


def _either(texts: list[str], most: int = 6) -> str:
    more = [f"{len(texts) - most} more"] if len(texts) > most else []
    return " or ".join([*texts[:most], *more])


def domain_of(name: str, annotation: Any, tests: Iterable[Test]) -> Domain:
    """The domain of a path with this type, under these tests of it."""
    wanted = [test for test in tests if test.op not in ("exists", "contains")]
    closed = closed_values(annotation)
    if closed is not None:
        cases = [Case(value, _text(value)) for value in closed]
    else:
        cases = _open_cases(annotation, wanted)
    domain = Domain(name, tuple(cases))
    for test in wanted:
        domain.asked[test] = sum(
            2 << at for at, case in enumerate(cases) if answers(test, case.value)
        )
    return domain


def answers(test: Test, value: Any) -> bool:
    """What a test says of a value; a comparison that raises says no."""
    if value is OTHER:
        return test.op == "!="
    try:
        return bool(Test(("x",), test.op, test.value)({"x": value}))
    except Exception:
        # Comparing values of the author's classes may raise anything; at run time it would be a contract error.
        return False


def closed_values(annotation: Any) -> list[Any] | None:
    """Every value of a type with finitely many, or `None`."""
    if annotation is None or annotation is type(None):
        return [None]
    if annotation is bool:
        return [False, True]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return None if issubclass(annotation, enum.Flag) else list(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return closed_values(get_args(annotation)[0])
    if origin is Literal:
        return list(get_args(annotation))
    if is_union(annotation):
        parts = [closed_values(part) for part in get_args(annotation)]
        if any(part is None for part in parts):
            return None
        return _distinct(value for part in parts if part is not None for value in part)
    return None


def is_union(annotation: Any) -> bool:
    """Whether a type is a union, in either spelling."""
    return get_origin(annotation) in (typing.Union, types.UnionType)


def nullable(annotation: Any) -> bool:
    """Whether `None` is a value of the type; an unknown type may hold anything."""
    if annotation is Any or annotation is None or annotation is type(None) or annotation is object:
        return True
    if get_origin(annotation) is Annotated:
        return nullable(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return None in get_args(annotation)
    return is_union(annotation) and any(nullable(part) for part in get_args(annotation))


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type alone; `Annotated` is looked through."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if is_union(annotation):
        return tuple(member for part in get_args(annotation) for member in members(part))
    return (annotation,)


def _open_cases(annotation: Any, tests: Sequence[Test]) -> list[Case]:
    """Cases of a type with endlessly many values: those that are named, and what lies between and beside them."""
    kinds = members(annotation)
    cases = (
        [Case(None, "None")] if nullable(annotation) and (tests or annotation is not Any) else []
    )
    finite = [value for kind in kinds for value in closed_values(kind) or () if value is not None]
    cases += [Case(value, _text(value)) for value in _distinct(finite)]
    named = _distinct(value for test in tests for value in _named(test))
    named = [value for value in named if value is not None and value not in finite]
    bounds = [test.value for test in tests if test.op in _ORDERING]
    if bounds and all(map(_is_number, bounds)):
        whole = all(kind in (int, type(None)) for kind in kinds)
        points = _distinct([*bounds, *(value for value in named if _is_number(value))])
        cases += _number_cases(sorted(points), whole=whole)
        named = [value for value in named if not _is_number(value)]
        if kinds and all(kind in (int, float, type(None)) for kind in kinds):
            return cases
    elif bounds and all(isinstance(value, str) for value in bounds):
        points = _distinct([*bounds, *(value for value in named if isinstance(value, str))])
        cases += _text_cases(sorted(points))
        named = [value for value in named if not isinstance(value, str)]
        if kinds and all(kind in (str, type(None)) for kind in kinds):
            return cases
    cases += [Case(value, _text(value)) for value in named if _may_hold(annotation, value)]
    return [*cases, Case(OTHER, "anything else" if cases else "there")]


def _named(test: Test) -> Iterable[Any]:
    if test.op in ("==", "!="):
        return (test.value,)
    return test.value if test.op == "is_in" and isinstance(test.value, tuple) else ()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _number_cases(points: list[Any], *, whole: bool) -> list[Case]:
    found: list[Case] = []

    def add(value: Any, text: str) -> None:
        found.append(Case(value, text))

    low, high = points[0], points[-1]
    if low > -math.inf:
        add(math.ceil(low) - 1 if whole else low - max(1.0, abs(low)), f"< {low}")
    for point, after in zip(points, [*points[1:], None], strict=True):
        if not whole or float(point).is_integer():
            add(point, str(point))
        if after is not None:
            between = math.floor(point) + 1 if whole else (point + after) / 2
            if point < between < after:
                add(between, f"between {point} and {after}")
    if high < math.inf:
        add(math.floor(high) + 1 if whole else high + max(1.0, abs(high)), f"> {high}")
    return found


def _text_cases(points: list[str]) -> list[Case]:
    # The next string after s is s + "\0": so a gap between two strings is empty only if they are neighbours.
    found = [Case("", f"before {points[0]!r}")] if points[0] else []
    for point, after in zip(points, [*points[1:], None], strict=True):
        found.append(Case(point, repr(point)))
        follower = point + "\0"
        if after is None:
            found.append(Case(follower, f"after {point!r}"))
        elif follower != after:
            found.append(Case(follower, f"between {point!r} and {after!r}"))
    return found


def _may_hold(annotation: Any, value: Any) -> bool:
    """Whether a value can be one of the type; what cannot be told may."""
    checker = _strict(annotation)
    return True if checker is None else checker(value)


def _strict(annotation: Any) -> Callable[[Any], bool] | None:
    if annotation is Any:
        return None
    from pydantic import TypeAdapter, ValidationError

    from agentflow.graph.typeddict import rebuilt

    try:
        validator = TypeAdapter[Any](rebuilt(annotation)).validator
    except Exception:
        # A type that pydantic does not know tells nothing.
        return None

    def check(value: Any) -> bool:
        try:
            validator.validate_python(value, strict=True)
        except ValidationError:
            # True and 1 are equal, so a bool may meet a field of numbers.
            return isinstance(value, bool) and check(int(value))
        except Exception:
            return True
        return True

    return check


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(
            value is other or (type(value) is type(other) and value == other) for other in found
        ):
            found.append(value)
    return found


def _text(value: Any) -> str:
    return str(value) if isinstance(value, enum.Enum) else repr(value)
