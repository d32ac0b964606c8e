"""The making of cases: what a path may hold, cut where the questions that are asked of it, and below it, differ.

Values that a type lists or a condition names are cases of themselves. Numbers and texts that are compared by order have the cases
between. Everything else is one case, or one for each way of answering what cannot be computed: whether it contains
something, and what lies below it. What lies below a field is part of its case, so that nothing is there below a field that is not.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentflow.graph.condition import Test
from agentflow.graph.excerpt import excerpt
from agentflow.graph.proof.annotation import (
    closed_values,
    distinct,
    may_hold,
    members,
    unknown,
)
from agentflow.graph.proof.case import ORDERING, OTHER, Case, named
from agentflow.graph.proof.gaps import (
    NUMBERS,
    as_complex,
    is_number,
    is_whole,
    number_gaps,
    plain,
    stretch,
    text_gaps,
)
from agentflow.graph.proof.parts import class_of, field_below, first_item, nothing_below

__all__ = ["Asked", "TooManyCases", "cases_of"]

_BYTES: Final = range(256)

_MOST: Final = 1024
"""How many cases of one path are told apart."""


class TooManyCases(Exception):
    """The questions cut a path into more cases than can be told apart."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions asked of one path, and of those below it by key or attribute."""

    here: tuple[Test, ...]
    below: Mapping[str, Asked]

    @classmethod
    def of(cls, tests: Iterable[Test], depth: int = 1) -> Asked:
        """The questions in a tree; those with a path of `depth` parts are asked here."""
        here: list[Test] = []
        below: dict[str, list[Test]] = {}
        for test in tests:
            if len(test.path) > depth:
                below.setdefault(test.path[depth], []).append(test)
            else:
                here.append(test)
        return cls(tuple(here), {part: cls.of(inner, depth + 1) for part, inner in below.items()})


def cases_of(annotation: Any, asked: Asked) -> list[Case]:
    """The cases of a path of that type.

    Raises:
        TooManyCases: There are more than can be told apart.
    """
    closed = closed_values(annotation)
    if closed is not None:
        return list(map(named, closed))
    found = _Open(annotation, asked).cases()
    if len(found) > _MOST:
        raise TooManyCases
    return found


class _Open:
    """The cases of a type with endlessly many values."""

    def __init__(self, annotation: Any, asked: Asked) -> None:
        self.annotation = annotation
        self.asked = asked
        self.kinds = members(annotation)
        self.unknown = any(map(unknown, self.kinds))
        self.bounds = [test.value for test in asked.here if test.op in ORDERING]
        self.named = [value for test in asked.here for value in _named(test) if value is not None]
        self.found: list[Case] = []

    def cases(self) -> list[Case]:
        lists = [closed_values(kind) for kind in self.kinds]
        finite = distinct([value for values in lists for value in values or ()])
        if self.unknown and (self.asked.here or self.asked.below):
            finite = distinct([None, *finite])
        self.found += map(named, finite)
        left = [value for value in self.named if value not in finite]
        left = self._numbers(left)
        left = self._texts(left)
        others = [
            kind
            for kind, values in zip(self.kinds, lists, strict=True)
            if values is None and kind not in (*NUMBERS, str)
        ]
        points = [bound for bound in self.bounds if not isinstance(bound, (*NUMBERS, str))]
        named_here = [*left, *points]
        if complex in others:
            named_here = list(map(as_complex, named_here))
        for value in distinct(named_here):
            if others and may_hold(self.annotation, value):
                self.found.append(named(value))
        rest = "anything else" if self.found else "there"
        for kind in others:
            self.found += self._rest(kind, rest)
        return self.found

    def _numbers(self, left: list[Any]) -> list[Any]:
        """Add the cases of numbers, and return which of the named values are left."""
        kinds = [kind for kind in self.kinds if kind in NUMBERS]
        bounds = [bound for bound in self.bounds if is_number(bound)]
        if not kinds and not (self.unknown and bounds):
            return left
        refused = (*self._unordered(NUMBERS), *self._containing())
        whole = not self.unknown and all(kind is int for kind in kinds)
        given = [value for value in left if is_number(value)]
        points = sorted(distinct([plain(value) for value in (*bounds, *given)]))
        valid = [point for point in points if not whole or is_whole(point)]
        self.found += map(named, valid)
        if bounds:
            gaps = number_gaps(points, whole=whole)
        else:
            gaps = iter([(OTHER, "anything else" if self.found else "there")])
        # Where nothing is asked below, all numbers are alike.
        below = [each for kind in kinds or [Any] for each in self._below(kind)]
        below = below if self.asked.below else below[:1]
        for value, text in gaps:
            self.found += [Case(value, text, refused=refused, below=each) for each in below]
        return [value for value in left if not is_number(value)]

    def _texts(self, left: list[Any]) -> list[Any]:
        """Add the cases of texts, and return which of the named values are left."""
        bounds = [bound for bound in self.bounds if isinstance(bound, str)]
        if str not in self.kinds and not (self.unknown and bounds):
            return left
        asked = [test for test in self._containing() if isinstance(test.value, str)]
        strange = [test for test in self._containing() if test not in asked]
        refused = (*self._unordered((str,)), *strange)
        given = [value for value in left if isinstance(value, str)]
        points = sorted(distinct([plain(value) for value in (*bounds, *given)]))
        self.found += map(named, points)
        rest: Iterable[tuple[Any, str]] = text_gaps(points)
        if not bounds:
            rest = [(OTHER, "anything else" if self.found else "there")]
        for value, text in rest:
            for said in filter(_is_possible(asked), _answers(asked)):
                for below in self._below(str):
                    told = _with(text, said)
                    self.found.append(Case(value, told, said=said, refused=refused, below=below))
        return [value for value in left if not isinstance(value, str)]

    def _rest(self, kind: Any, text: str) -> Iterator[Case]:
        """The cases of all other values of one kind."""
        for ordered, refused, where in self._orders(kind):
            for contained in _answers(self._contained(kind)):
                for below in self._below(kind):
                    yield Case(
                        OTHER,
                        _with(where or text, contained),
                        said=(*ordered, *contained),
                        refused=refused,
                        below=below,
                    )

    def _orders(self, kind: Any) -> Iterator[tuple[tuple[Test, ...], tuple[Test, ...], str]]:
        """How values of a kind may lie to the bounds: the questions answered with yes, those that raise, and where they lie."""
        asked = [test for test in self.asked.here if test.op in ORDERING]
        contained = self._contained(kind)
        refused = [test for test in self._containing() if test not in contained]
        fitting = [test for test in asked if _has_order(kind) and _may_order(kind, test.value)]
        refused += [test for test in asked if test not in fitting]
        if not fitting:
            yield (), tuple(refused), ""
            return
        try:
            points = sorted(distinct([test.value for test in fitting]))
        except TypeError:
            # What cannot be put in order may be answered in any way.
            for said in _answers(fitting):
                yield said, tuple(refused), ""
            return
        for at in range(len(points) + 1):
            above = points[:at]
            said = tuple(
                test for test in fitting if (test.value in above) == test.op.startswith(">")
            )
            yield said, tuple(refused), stretch(points, at)

    def _unordered(self, kinds: tuple[type, ...]) -> list[Test]:
        """The questions by order that raise for values of some kinds."""
        return [
            test
            for test in self.asked.here
            if test.op in ORDERING and not isinstance(test.value, kinds)
        ]

    def _containing(self) -> list[Test]:
        return [test for test in self.asked.here if test.op == "contains"]

    def _contained(self, kind: Any) -> list[Test]:
        return [test for test in self._containing() if _may_contain(kind, test.value)]

    def _below(self, kind: Any) -> list[dict[str, Case]]:
        """Everything that may lie below a value of a kind, as far as anything is asked of it."""
        choices: list[list[tuple[str, Case | None]]] = []
        for part, asked in self.asked.below.items():
            spec = field_below(kind, part)
            inner: list[Case | None] = [*cases_of(Any if spec is None else spec.annotation, asked)]
            if spec is None and nothing_below(kind, part):
                inner = [None]
            elif spec is None or not (spec.required or spec.default is not None):
                inner.append(None)
            choices.append([(part, case) for case in inner])
        if math.prod(map(len, choices)) > _MOST:
            raise TooManyCases
        return [
            {part: case for part, case in chosen if case is not None}
            for chosen in itertools.product(*choices)
        ]


def _named(test: Test) -> Iterable[Any]:
    if test.op in ("==", "!="):
        return (test.value,)
    return test.value if test.op == "is_in" and isinstance(test.value, tuple) else ()


def _answers(tests: list[Test]) -> Iterator[tuple[Test, ...]]:
    """Every way to answer some questions, as those that are answered with yes."""
    groups: list[list[Test]] = []
    for test in tests:
        same = next((group for group in groups if group[0] == test), None)
        groups.append([test]) if same is None else same.append(test)
    if 2 ** len(groups) > _MOST:
        raise TooManyCases
    for said in itertools.product((True, False), repeat=len(groups)):
        yield tuple(test for group, yes in zip(groups, said, strict=True) if yes for test in group)


def _is_possible(asked: list[Test]) -> Callable[[tuple[Test, ...]], bool]:
    """Whether some text contains just these: what contains "ab" contains "a" and "" too."""

    def possible(said: tuple[Test, ...]) -> bool:
        implied = [
            test
            for test in asked
            if not test.value or any(test.value in other.value for other in said)
        ]
        return all(test in said for test in implied)

    return possible


def _with(text: str, contained: tuple[Test, ...]) -> str:
    names = " and ".join(dict.fromkeys(excerpt(test.value) for test in contained))
    return f"{text} with {names} in it" if names else text


def _may_contain(kind: Any, value: Any) -> bool:
    """Whether values of a kind can be asked whether they contain something, as far as can be told."""
    made = class_of(kind)
    if made is not None and issubclass(made, bytes | bytearray):
        return isinstance(value, bytes | bytearray | memoryview) or value in _BYTES
    if made is not None and getattr(made, "__contains__", None) is enum.Flag.__contains__:
        return isinstance(value, made)
    names = ("__contains__", "__iter__", "__getitem__")
    return made is None or any(hasattr(made, name) for name in names)


def _has_order(kind: Any) -> bool:
    """Whether values of a kind may be compared by order, as far as can be told."""
    made = class_of(kind)
    if made is None:
        return not unknown(kind)
    # Complex numbers have the method, which answers nothing.
    return made is not complex and any(
        "__lt__" in vars(each) for each in made.__mro__ if each is not object
    )


def _may_order(kind: Any, value: Any) -> bool:
    """Whether values of a kind may be compared by order with a value, as far as can be told."""
    made = class_of(kind)
    if made is None or not issubclass(made, tuple) or not isinstance(value, tuple):
        return may_hold(kind, value)
    # Tuples of any lengths have an order. The first difference decides, so the first items are compared for sure.
    item = first_item(kind, made)
    numeric = any(part in NUMBERS for part in members(item))
    return not value or may_hold(item, value[0]) or (numeric and is_number(value[0]))
