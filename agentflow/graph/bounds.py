"""Bounds: how far a run can go at most, proved from the definition alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentflow.graph.counted import counted

__all__ = ["COUNTS", "Bound", "Bounds", "Extent"]

COUNTS: Final = ("rounds", "visits", "model_calls", "tool_calls")
"""What is counted over a whole run, sub-workflows included, by the names that a `Budget` has for it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A largest number, or `None` for unbounded, with the reason."""

    value: int | None
    reason: str = ""

    @property
    def bounded(self) -> bool:
        """Whether there is a largest number."""
        return self.value is not None

    def __str__(self) -> str:
        return str(self.value) if self.value is not None else f"unbounded, because {self.reason}"

    def __add__(self, other: Bound) -> Bound:
        if self.value is None or other.value is None:
            return other if self.bounded else self
        return Bound(self.value + other.value)

    def times(self, number: int) -> Bound:
        """The bound of so many of the same."""
        if self.value is None:
            return self if number else Bound(0)
        return Bound(self.value * number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The worst case of one run.

    Args:
        rounds_of_workflow: Rounds of the workflow itself.
        rounds: Rounds of the whole run, sub-workflows included, as `Budget.rounds` counts them.
        visits: Visits of the whole run, sub-workflows included, as `Budget.visits` counts them.
        node_visits: Visits of each node of the workflow itself.
        model_calls: Model calls of the whole run, attempts included.
        tool_calls: Tool calls of the whole run, attempts included.
        exact: Whether some run really comes to these numbers, as far as nodes keep to what they declare; else they
            are only never too small.
    """

    rounds_of_workflow: int
    rounds: Bound
    visits: Bound
    node_visits: Mapping[str, int]
    model_calls: Bound
    tool_calls: Bound
    exact: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The bounds as JSON data; `null` for unbounded, with the reasons beside."""
        named: dict[str, Bound] = {name: getattr(self, name) for name in COUNTS}
        return {
            **{name: bound.value for name, bound in named.items()},
            "unbounded": {name: bound.reason for name, bound in named.items() if not bound.bounded},
            "node_visits": dict(self.node_visits),
            "exact": self.exact,
        }

    def as_text(self) -> str:
        """The bounds as lines for a reader."""
        lines = [
            f"rounds       {self.rounds}",
            f"visits       {self.visits}",
            f"model calls  {self.model_calls}",
            f"tool calls   {self.tool_calls}",
        ]
        lines += [f"  {id}: {counted(count, 'visit')}" for id, count in self.node_visits.items()]
        if not self.exact:
            lines.append("(never too small, but perhaps larger than those of any run)")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far runs of a workflow go: what a workflow around it has to know.

    Args:
        bounds: The worst case of all runs.
        well: Of each count, the largest of a run that ends with a result; one that fails may have gone further.
    """

    bounds: Bounds
    well: Mapping[str, Bound]
