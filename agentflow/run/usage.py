"""What the model calls of a run have used, added up. What was not told is unknown, and never counted as zero.

A ledger and a journal count amounts by name. The figures of the calls of one node are such amounts, by the path of the node
and the name of the figure: `agent/model:input_tokens`, with the number of calls that told it as `agent/model:input_tokens:told`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agentflow.graph.frozen import FrozenDict

__all__ = ["Usage", "counters_of_call", "is_usage", "usage_by_path"]

_MARK: Final = ":"
"""No id of a node holds it."""

_TOLD: Final = "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The figures of some model calls, added up as far as they are known.

    Args:
        calls: How many calls there were.
        partial: How many of them were cut short, by an error or a cancel: they may have used more than they told.
        figures: The sums by name, such as `input_tokens`, `cached_tokens`, `output_tokens`, `reasoning_tokens` and `cost`.
        told: How many calls told each figure.
    """

    calls: int = 0
    partial: int = 0
    figures: Mapping[str, float] = field(default_factory=FrozenDict)
    told: Mapping[str, int] = field(default_factory=FrozenDict)

    def known(self, name: str) -> float | None:
        """The sum of a figure if every call has told it; else `None`, and `figures` has the sum of those that did."""
        return self.figures[name] if self.calls and self.told.get(name) == self.calls else None

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """All of them together."""
        calls = partial = 0
        figures: dict[str, float] = {}
        told: dict[str, int] = {}
        for part in parts:
            calls, partial = calls + part.calls, partial + part.partial
            for name, amount in part.figures.items():
                figures[name] = figures.get(name, 0) + amount
                told[name] = told.get(name, 0) + part.told[name]
        return cls(calls=calls, partial=partial, figures=FrozenDict(figures), told=FrozenDict(told))


def counters_of_call(path: str, figures: Mapping[str, float], *, partial: bool) -> dict[str, float]:
    """What one call of the node at `path` adds, as amounts by name."""
    counters: dict[str, float] = {f"{path}{_MARK}calls": 1}
    if partial:
        counters[f"{path}{_MARK}partial"] = 1
    for name, amount in figures.items():
        counters[f"{path}{_MARK}{name}"] = amount
        counters[f"{path}{_MARK}{name}{_MARK}{_TOLD}"] = 1
    return counters


def is_usage(name: str) -> bool:
    """Whether an amount of that name belongs to the figures of model calls, and to no limit."""
    return _MARK in name


def usage_by_path(counters: Mapping[str, float]) -> dict[str, Usage]:
    """The figures of each node, from amounts by name; what belongs to no call is passed over."""
    found: dict[str, dict[str, float]] = {}
    for name, amount in counters.items():
        path, mark, rest = name.partition(_MARK)
        if mark:
            found.setdefault(path, {})[rest] = amount
    return {path: _usage(amounts) for path, amounts in found.items()}


def _usage(amounts: Mapping[str, float]) -> Usage:
    told = {
        name.partition(_MARK)[0]: int(amount) for name, amount in amounts.items() if _MARK in name
    }
    return Usage(
        calls=int(amounts.get("calls", 0)),
        partial=int(amounts.get("partial", 0)),
        figures=FrozenDict({name: amounts[name] for name in told}),
        told=FrozenDict(told),
    )
