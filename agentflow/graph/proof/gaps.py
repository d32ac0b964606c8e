"""Gaps: what lies below, between and above the values that conditions compare with by order."""

from __future__ import annotations

import enum
import itertools
import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from agentflow.graph.excerpt import excerpt

__all__ = [
    "NUMBERS",
    "as_complex",
    "is_number",
    "is_whole",
    "number_gaps",
    "plain",
    "stretch",
    "text_gaps",
]

NUMBERS = (int, float, Decimal, Fraction)


def is_number(value: Any) -> bool:
    """Whether a value has its place among the numbers, which NaN has not."""
    return isinstance(value, NUMBERS) and value == value


def plain(value: Any) -> Any:
    """The builtin number or text that a bool or a member of an enum of such equals; other values as they are."""
    if not isinstance(value, bool | enum.Enum):
        return value
    # What the builtin says: a class of an enum may print and convert its members in a way of its own.
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return str.__str__(value) if isinstance(value, str) else value


def as_complex(value: Any) -> Any:
    """The complex number that a number equals; other values as they are."""
    if not is_number(value):
        return value
    try:
        equal = complex(value)
    except OverflowError:
        return value
    return equal if equal == value else value


def is_whole(value: Any) -> bool:
    """Whether a number equals some int."""
    return isinstance(value, int) or (not _is_endless(value) and value == math.floor(value))


def _is_endless(value: Any) -> bool:
    return isinstance(value, float | Decimal) and math.isinf(value)


def number_gaps(points: list[Any], *, whole: bool) -> Iterator[tuple[Any, str]]:
    """A number for each stretch below, between and above some numbers, in which there is one."""
    low, high = points[0], points[-1]
    if low > -math.inf:
        yield _below_number(low, whole=whole), f"< {low}"
    for point, after in itertools.pairwise(points):
        between = _between_numbers(point, after, whole=whole)
        if point < between < after:
            yield between, f"between {point} and {after}"
    if high < math.inf:
        yield -_below_number(-high, whole=whole), f"> {high}"


def _below_number(point: Any, *, whole: bool) -> Any:
    if _is_endless(point):
        return 0
    if whole:
        return math.ceil(point) - 1
    return point - max(1, abs(point))


def _between_numbers(point: Any, after: Any, *, whole: bool) -> Any:
    if _is_endless(point):
        return 0 if _is_endless(after) else _below_number(after, whole=whole)
    if whole:
        return math.floor(point) + 1
    if _is_endless(after):
        return -_below_number(-point, whole=whole)
    middle = (Fraction(point) + Fraction(after)) / 2
    # Neighbours among floats have no float between them, but a field may hold other numbers.
    near = float(middle) if abs(middle) < sys.float_info.max else point
    return near if point < near < after else middle


def text_gaps(points: list[str]) -> Iterator[tuple[str, str]]:
    """A text for each stretch before, between and after some texts, in which there is one."""
    # The next string after s is s + "\0": so a gap between two strings is empty only if they are neighbours.
    if points[0]:
        yield "", f"before {points[0]!r}"
    for point, after in itertools.pairwise(points):
        if point + "\0" != after:
            yield point + "\0", f"between {point!r} and {after!r}"
    yield points[-1] + "\0", f"after {points[-1]!r}"


def stretch(points: list[Any], at: int) -> str:
    """In words, the stretch that lies after `at` of some points in order."""
    if at == 0:
        return f"< {excerpt(points[0])}"
    if at == len(points):
        return f"> {excerpt(points[-1])}"
    return f"between {excerpt(points[at - 1])} and {excerpt(points[at])}"
