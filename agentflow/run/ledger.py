"""The ledger: what a run has spent of its budget. Nothing resets it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from agentflow.errors import BudgetExceeded
from agentflow.graph.limits import Budget
from agentflow.run.usage import Usage, is_usage, usage_by_path

__all__ = ["Ledger"]

_UNLIMITED: Final = Budget()
_NO_LIMITS: Final[Mapping[str, float]] = {}
_NAMES: Final = tuple(Budget.__dataclass_fields__)


class Ledger:
    """The counters of a run and everything below it, against the limits of its budget.

    Args:
        budget: The limits; unlimited where it says nothing.
        parent: The ledger of which this one is a smaller share: whatever is spent here is spent there too.

    Attributes:
        unlimited: Whether there is no limit at all, here or above.
    """

    __slots__ = (
        "_allowed",
        "_parent",
        "_used",
        "budget",
        "round_limit",
        "rounds",
        "unlimited",
        "visit_limit",
        "visits",
    )

    def __init__(self, budget: Budget | None = None, *, parent: Ledger | None = None) -> None:
        self.budget = _UNLIMITED if budget is None else budget
        self._allowed: Mapping[str, float] = _NO_LIMITS if budget is None else budget.limits()
        self._used: dict[str, float] = {}
        self._parent = parent
        # Most runs have no limit at all, and every effect asks.
        self.unlimited: bool = not self._allowed and (parent is None or parent.unlimited)
        # The hot loop counts these, so they have slots of their own.
        self.visits = 0
        self.visit_limit = self._allowed.get("visits", math.inf)
        self.rounds = 0
        self.round_limit = self._allowed.get("rounds", math.inf)

    def enter_visit(self) -> None:
        """Count one visit.

        Raises:
            BudgetExceeded: There is none left; nothing is counted.
        """
        if self.visits >= self.visit_limit:
            raise BudgetExceeded("visits", self.visit_limit, self.visits + 1)
        if self._parent is not None:
            self._parent.enter_visit()
        self.visits += 1

    def enter_round(self) -> None:
        """Count one round.

        Raises:
            BudgetExceeded: There is none left; nothing is counted.
        """
        if self.rounds >= self.round_limit:
            raise BudgetExceeded("rounds", self.round_limit, self.rounds + 1)
        if self._parent is not None:
            self._parent.enter_round()
        self.rounds += 1

    def spend(self, limit: str, amount: float = 1) -> None:
        """Count `amount` against any limit but `visits` and `rounds`, here and in the ledgers above.

        Raises:
            BudgetExceeded: It would be too much; nothing is counted anywhere.
        """
        if not self.unlimited:
            self.check(limit, amount)
        ledger: Ledger | None = self
        while ledger is not None:
            ledger._used[limit] = ledger._used.get(limit, 0) + amount
            ledger = ledger._parent

    def check(self, limit: str, amount: float = 1) -> None:
        """Raise `BudgetExceeded` if spending `amount` would be too much; spend nothing."""
        if self.unlimited:
            return
        ledger: Ledger | None = self
        while ledger is not None:
            allowed = ledger._allowed.get(limit)
            if allowed is not None and ledger.used(limit) + amount > allowed:
                raise BudgetExceeded(limit, allowed, ledger.used(limit) + amount)
            ledger = ledger._parent

    def note(self, limit: str, amount: float) -> None:
        """Count what is known only after it was spent; then raise if it was too much.

        Raises:
            BudgetExceeded: The limit is passed; the amount is counted all the same.
        """
        ledger: Ledger | None = self
        passed: tuple[float, float] | None = None
        while ledger is not None:
            total = ledger._used[limit] = ledger._used.get(limit, 0) + amount
            allowed = ledger._allowed.get(limit)
            if passed is None and allowed is not None and total > allowed:
                passed = allowed, total
            ledger = ledger._parent
        if passed is not None:
            raise BudgetExceeded(limit, *passed)

    @property
    def usage(self) -> Usage:
        """What all model calls have used, failed and cancelled ones included."""
        return Usage.total(self.usage_by_path.values())

    @property
    def usage_by_path(self) -> Mapping[str, Usage]:
        """The same for each node that has called a model, by the ids of the nodes that lead to it, as in `agent/model`."""
        return usage_by_path(self._used)

    def counters(self) -> dict[str, float]:
        """Everything that is counted, as a journal keeps it: what was spent, and what model calls have used."""
        usage = {name: amount for name, amount in self._used.items() if is_usage(name)}
        return self.as_dict() | usage

    def restore(self, used: Mapping[str, float]) -> None:
        """Start from what a run had spent before it was interrupted."""
        for name, amount in used.items():
            match name:
                case "visits":
                    self.visits = int(amount)
                case "rounds":
                    self.rounds = int(amount)
                case _:
                    self._used[name] = amount

    def spend_time(self, seconds: float) -> None:
        """Count active time, known only afterwards; limits of it are kept by the run."""
        ledger: Ledger | None = self
        while ledger is not None:
            ledger._used["seconds"] = ledger._used.get("seconds", 0) + seconds
            ledger = ledger._parent

    def used(self, limit: str) -> float:
        """How much of a limit is spent."""
        match limit:
            case "visits":
                return self.visits
            case "rounds":
                return self.rounds
        return self._used.get(limit, 0)

    def left(self, limit: str) -> float:
        """How much of a limit is left, here and above; infinity where nothing is limited."""
        allowed = self._allowed.get(limit)
        mine = math.inf if allowed is None else max(0.0, allowed - self.used(limit))
        return mine if self._parent is None else min(mine, self._parent.left(limit))

    def limits(self, limit: str) -> bool:
        """Whether there is such a limit, here or above."""
        if self.unlimited:
            return False
        ledger: Ledger | None = self
        while ledger is not None:
            if ledger._allowed.get(limit, math.inf) < math.inf:
                return True
            ledger = ledger._parent
        return False

    def allowed(self, limit: str) -> float | None:
        """The value of a limit, or `None`."""
        return self._allowed.get(limit)

    def share(self, budget: Budget | None) -> Ledger:
        """A smaller ledger below this one: both limits hold."""
        return Ledger(budget, parent=self)

    def as_dict(self) -> dict[str, float]:
        """Everything that was spent, by limit, in the order of `Budget`."""
        return {name: self.used(name) for name in _NAMES if self.used(name)}

    def __repr__(self) -> str:
        parts = []
        for name in _NAMES:
            allowed, used = self._allowed.get(name), self.used(name)
            if allowed is not None:
                parts.append(f"{name}={used:.15g}/{allowed:.15g}")
            elif used:
                parts.append(f"{name}={used:.15g}")
        return f"<Ledger {' '.join(parts) or 'nothing spent'}>"
