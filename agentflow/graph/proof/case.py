"""Cases: each stands for all the values that answer every question of a workflow alike."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agentflow.graph.condition import MISSING, Test, lookup

__all__ = ["OTHER", "Case", "answers", "either", "named"]

ORDERING = frozenset({"<", "<=", ">", ">="})


class _Other:
    """A value that is none of those that any condition names."""

    def __repr__(self) -> str:
        return "another value"


OTHER: Any = _Other()


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case of what a path may hold.

    Args:
        value: The value itself, or one that stands for all of its kind; `OTHER` where none can be shown.
        text: How to speak of it.
        certain: Whether it is the value itself, so that every question can be answered by asking.
        said: Questions that are answered with yes, where asking `value` would not tell.
        refused: Questions that raise, where asking `value` would not tell.
        below: What lies below it, by key or attribute, where `value` does not tell; all else is not there.
    """

    value: Any
    text: str
    certain: bool = False
    said: tuple[Test, ...] = ()
    refused: tuple[Test, ...] = ()
    below: Mapping[str, Case] = field(default_factory=lambda: MappingProxyType({}))

    def at(self, path: Iterable[str]) -> Case | None:
        """The case of what lies at a path below this, `None` where nothing does."""
        here = self
        for part in path:
            if part in here.below:
                here = here.below[part]
                continue
            value = MISSING if here.value is OTHER else lookup(("x", part))({"x": here.value})
            if value is MISSING:
                return None
            here = named(value)
        return here


def named(value: Any) -> Case:
    """The case of exactly one value."""
    text = str(value) if isinstance(value, enum.Enum) else repr(value)
    return Case(value, text, certain=True)


def answers(test: Test, cases: Iterable[Case]) -> list[bool | None]:
    """What a question about the path of some cases, or about one below it, is answered; `None` where asking raises."""
    asked = Test(("x",), test.op, test.value)
    return [_answer(test, asked, case) for case in cases]


def _answer(test: Test, asked: Test, case: Case) -> bool | None:
    here = case.at(test.path[1:])
    if here is None:
        return False
    if test in here.refused:
        return None
    if not here.certain:
        if test.op == "contains" or (here.value is OTHER and test.op in ORDERING):
            return test in here.said
        if here.value is OTHER:
            return test.op in ("exists", "!=")
    try:
        return bool(asked({"x": here.value}))
    except Exception:
        # Comparing values of the author's classes may raise anything; a run would end with a contract error.
        return None


def either(texts: Iterable[str], most: int = 6) -> str:
    """Several cases in words; of many only the first ones."""
    told = list(dict.fromkeys(texts))
    more = [f"{len(told) - most} more"] if len(told) > most else []
    return " or ".join([*told[:most], *more])
