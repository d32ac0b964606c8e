"""How far a run may go: budgets, shares of one visit, retries. Frozen arithmetic, no clock."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from agentflow.graph.excerpt import excerpt

__all__ = ["Backoff", "Budget", "Retry", "Uses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The hard limits of a run and everything below it; `None` means unlimited.

    `rounds` and `visits` count the whole run, sub-workflows included. `model_calls` and `tool_calls` count starts, attempts
    included. `input_chars`, `output_chars` and the token limits are sums over the run. `cost` is in US dollars. `depth` is
    how deep workflows and agents may nest (1 = no nesting). `seconds` is active time, suspensions excluded.

    Raises:
        ValueError: A limit is negative or not a number.
    """

    rounds: int | None = None
    visits: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    input_chars: int | None = None
    output_chars: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None
    depth: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.limits().items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"Budget({name}={value!r}): a limit is a number or None")
            if not value >= 0:
                raise ValueError(f"Budget({name}={value!r}): a limit is a number of at least 0")
            if name not in _FRACTIONAL and not isinstance(value, int):
                raise ValueError(f"Budget({name}={value!r}): this limit is a whole number")

    def limits(self) -> dict[str, int | float]:
        """The limits that are set, by name."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def tightened(self, other: Budget | None) -> Budget:
        """The budget in which both hold: of each limit the smaller."""
        if other is None:
            return self
        mine, theirs = self.limits(), other.limits()
        smaller = {
            name: min(limit for limit in (mine.get(name), theirs.get(name)) if limit is not None)
            for name in mine.keys() | theirs.keys()
        }
        return Budget(**smaller)  # type: ignore[arg-type]


_FRACTIONAL = frozenset({"cost", "seconds"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """What one visit of a node may spend, attempts included; enforced, and the base of `Workflow.bounds()`.

    Args:
        model_calls: How many model calls it may start; `None` for any number, and then the worst case is unbounded.
        tool_calls: How many tool calls it may start, likewise.
    """

    model_calls: int | None = 0
    tool_calls: int | None = 0

    def problems(self) -> tuple[str, ...]:
        """What is wrong with these numbers, in words; empty when nothing is."""
        return tuple(
            f"uses {name}={excerpt(value)}: a count is a whole number of at least 0, or None for any"
            for name, value in (("model_calls", self.model_calls), ("tool_calls", self.tool_calls))
            if value is not None
            and (isinstance(value, bool) or not isinstance(value, int) or value < 0)
        )


Backoff = float | Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a node's body may be tried inside one visit.

    Args:
        attempts: Tries in all, the first included; at least 1.
        backoff: Seconds before the second try, doubled for each later one, or a function of the number of the
            failed try (1, 2, …) that returns seconds.
        on: The exception types that are worth another try. Contract errors, exceeded budgets, cancel, bail and suspend
            are never retried, whatever this says.
    """

    attempts: int
    backoff: Backoff = 0.0
    on: tuple[type[Exception], ...] | type[Exception] = (Exception,)

    def delay(self, failed: int) -> float:
        """Seconds to wait after try number `failed` (counted from 1)."""
        if callable(self.backoff):
            return float(self.backoff(failed))
        # Beyond this the wait is longer than any run, and the power longer than a float.
        return float(self.backoff) * 2.0 ** min(failed - 1, 100)

    def problems(self) -> tuple[str, ...]:
        """What is wrong with these values, in words; empty when nothing is."""
        found = []
        if (
            isinstance(self.attempts, bool)
            or not isinstance(self.attempts, int)
            or self.attempts < 1
        ):
            found.append(
                f"retry attempts={excerpt(self.attempts)}: it is a whole number of at least 1"
            )
        if not callable(self.backoff) and (
            isinstance(self.backoff, bool)
            or not isinstance(self.backoff, int | float)
            or not 0 <= self.backoff < math.inf
        ):
            found.append(
                f"retry backoff={excerpt(self.backoff)}: it is seconds of at least 0, or a function"
            )
        kinds = self.on if isinstance(self.on, tuple) else (self.on,)
        found.extend(
            f"retry on={excerpt(kind)}: it takes exception types"
            for kind in kinds
            if not (isinstance(kind, type) and issubclass(kind, Exception))
        )
        return tuple(found)
