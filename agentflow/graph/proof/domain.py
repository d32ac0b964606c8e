"""Domains: what a field may hold, cut into the cases that the conditions of a workflow tell apart.

Two values that answer every condition alike are one case. So a `Literal` has a case for each of its values, a number that is
compared with 10 has the cases below, at and above 10, and a field that nothing looks into has just one. Absence is
a case too. A set of cases is an int, one bit a case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.graph.condition import Test
from agentflow.graph.proof.annotation import closed_values, members
from agentflow.graph.proof.case import OTHER, Case, answers, either, named
from agentflow.graph.proof.cases import Asked, TooManyCases, cases_of

__all__ = ["ABSENT", "OTHER", "Domain", "closed_values", "domain_of", "either", "members"]

ABSENT = 1
"""The case that the field does not exist; bit 0 of every mask."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The cases of one field of the state.

    Args:
        name: The field.
        cases: Its cases; case `i` is bit `i + 1` of a mask.
        true: For each question, the mask of the cases for which it is true.
        false: And of those for which it is not; in cases of neither asking raises.
        coarse: Whether there are too many cases to tell apart, so that everything is possible at any time.
    """

    name: str
    cases: tuple[Case, ...]
    true: dict[Test, int]
    false: dict[Test, int]
    coarse: bool = False

    @property
    def present(self) -> int:
        """The mask of everything the field may hold when it exists."""
        return (1 << (len(self.cases) + 1)) - 2

    @property
    def none(self) -> int:
        """The mask of the case `None`, 0 if the field cannot hold it."""
        return self._mask(lambda case: case.value is None)

    def mask_of(self, value: Any) -> int:
        """The cases that a value may be of: those that answer every question as it does."""
        mask = self.present
        for test, true in self.true.items():
            (said,) = answers(test, [named(value)])
            false = self.false[test]
            mask &= ~true & ~false if said is None else true if said else false
        return mask

    def describe(self, mask: int, below: Sequence[str] = ()) -> str:
        """A mask in words: `status is 'on' or 'off'`, `answer is missing`; of the field or of a path below it."""
        there = [case.at(below) for at, case in enumerate(self.cases) if mask & 2 << at]
        texts = [case.text for case in there if case is not None]
        if mask & ABSENT or None in there:
            texts.append("missing")
        return f"{'.'.join((self.name, *below))} is {either(texts)}"

    def choices(self, below: Sequence[str] = ()) -> str:
        """Everything that the field, or a path below it, may hold, in words."""
        there = (case.at(below) for case in self.cases)
        return either(case.text for case in there if case is not None)

    def _mask(self, holds: Callable[[Case], bool]) -> int:
        return sum(2 << at for at, case in enumerate(self.cases) if holds(case))


def domain_of(name: str, annotation: Any, tests: Iterable[Test]) -> Domain:
    """The domain of a field of this type, under these questions about it and what lies below it."""
    asked = list(tests)
    try:
        cases = cases_of(annotation, Asked.of(asked))
    except TooManyCases:
        every = dict.fromkeys(asked, 2)
        return Domain(name, (Case(OTHER, "there"),), every, dict(every), coarse=True)
    domain = Domain(name, tuple(cases), {}, {})
    for test in asked:
        if test not in domain.true:
            said = answers(test, cases)
            domain.true[test] = sum(2 << at for at, yes in enumerate(said) if yes is True)
            domain.false[test] = sum(2 << at for at, yes in enumerate(said) if yes is False)
    return domain
