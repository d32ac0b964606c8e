"""How far a run is: a fold of its facts, to be shown in one way or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from agentflow.run.facts import Fact

__all__ = ["ENDS", "Path", "Progress", "Row", "RowState", "RunState", "spending_text"]

Path = tuple[str, ...]
"""A node's place: its id, after those of the nodes whose sub-workflow it belongs to."""

RowState = Literal["running", "retrying", "done", "failed", "stopped", "waiting"]
RunState = Literal[
    "waiting", "running", "suspended", "interrupted", "completed", "failed", "cancelled"
]

ENDS: Final[Mapping[str, RunState]] = {
    "run.completed": "completed",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
    "run.suspended": "suspended",
    "run.interrupted": "interrupted",
}
"""The facts with which a run ends, or stops for now."""

_SPENT_BY: Final = {"model.started": "model_calls", "tool.started": "tool_calls"}
_USAGE: Final = ("total_tokens", "input_tokens", "output_tokens", "cost")


@dataclass(slots=True)
class Row:
    """One node as it stands.

    Args:
        path: Its place.
        state: What it does now, or how its last visit ended.
        visits: How often it has been visited.
        seconds: What its finished visits took.
        since: When its present visit began, on the clock of `Progress.take`; `None` between visits.
        note: What went wrong last, if something did.
    """

    path: Path
    state: RowState = "running"
    visits: int = 0
    seconds: float = 0.0
    since: float | None = None
    note: str = ""

    def elapsed(self, now: float) -> float:
        """Seconds in all visits, the present one included."""
        return self.seconds + (0.0 if self.since is None else now - self.since)


@dataclass(slots=True)
class Progress:
    """What the facts of one run say so far. Several nodes may be at work at the same time.

    Args:
        run_id: The run, once it has begun.
        state: Whether it goes on, and how it ended.
        rows: The nodes that have been visited, in the order of their first visits.
        round: The round of the outermost workflow.
        spent: What was spent, by the names of `Budget`.
        began: When the run began, on the clock of `take`.
        ended: When it ended.
        note: Why it ended, where it did not end well.
    """

    run_id: str = ""
    state: RunState = "waiting"
    rows: dict[Path, Row] = field(default_factory=dict)
    round: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    began: float | None = None
    ended: float | None = None
    note: str = ""

    def elapsed(self, now: float) -> float:
        """Seconds since the run began, or that it took."""
        if self.began is None:
            return 0.0
        return (now if self.ended is None else self.ended) - self.began

    def take(self, fact: Fact, at: float) -> None:
        """Go on by one fact, which happened `at` seconds of some clock."""
        kind = fact.kind
        if kind in ("run.started", "run.resumed") and fact.parent_run_id is None:
            self.run_id, self.state, self.began = fact.run_id, "running", at
        elif kind in ENDS and fact.parent_run_id is None:
            self._end(fact, at)
        elif kind == "round.started" and fact.parent_run_id is None:
            self.round = fact.round or 0
        elif fact.node_id is not None:
            self._node(fact, at)
        if kind in _SPENT_BY:
            self._spend({_SPENT_BY[kind]: 1})
        elif kind in ("model.completed", "model.failed"):
            usage = fact.data.get("usage") or {}
            self._spend({name: usage[name] for name in _USAGE if name in usage})

    def path_of(self, fact: Fact) -> Path:
        """The place of the node that a fact speaks of."""
        return (*self.frame_of(fact), fact.node_id or "")

    def frame_of(self, fact: Fact) -> Path:
        """The place of the workflow that a fact speaks of; empty for the outermost one."""
        # The id of a sub-workflow's run is that of the run above, the node that holds it, and the visit.
        below = fact.run_id.removeprefix(self.run_id).split("/")[1:]
        return tuple(part.partition("#")[0] for part in below)

    def _node(self, fact: Fact, at: float) -> None:
        path = self.path_of(fact)
        if fact.kind == "node.started":
            row = self.rows.setdefault(path, Row(path))
            row.state, row.visits = "running", row.visits + (fact.attempt == 1)
            if row.since is None:
                row.since = at
            return
        row = self.rows.setdefault(path, Row(path))
        match fact.kind:
            case "node.committed":
                self._rest(row, "done", at)
                row.note = ""
            case "node.failed":
                self._rest(row, "failed", at)
                row.note = _error_text(fact.data)
            case "node.retried":
                row.state, row.note = "retrying", _error_text(fact.data)

    def _rest(self, row: Row, state: RowState, at: float) -> None:
        row.state, row.seconds, row.since = state, row.elapsed(at), None

    def _end(self, fact: Fact, at: float) -> None:
        self.ended, self.state = at, ENDS[fact.kind]
        match fact.kind:
            case "run.failed" | "run.interrupted":
                self.note = _error_text(fact.data)
            case "run.cancelled":
                self.note = str(fact.data.get("reason") or "")
        for row in self.rows.values():
            if row.since is not None:
                self._rest(row, "waiting" if self.state == "suspended" else "stopped", at)
        used = fact.data.get("used")
        if isinstance(used, Mapping):
            # The ledger is exact; what was counted on the way may lack what was never told.
            self.spent = dict(used)

    def _spend(self, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self.spent[name] = self.spent.get(name, 0) + amount


def _error_text(data: Mapping[str, object]) -> str:
    message = str(data.get("message") or "").strip().partition("\n")[0]
    return f"{data.get('error')}: {message}" if message else str(data.get("error"))


def spending_text(spent: Mapping[str, float], allowed: Mapping[str, float] | None = None) -> str:
    """What was spent, in words: `3 of 10 model calls, 7 tool calls, 1,204 tokens`."""
    parts = []
    for name, noun in _NOUNS.items():
        amount = spent.get(name)
        if not amount:
            continue
        limit = (allowed or {}).get(name)
        told = (
            _number(name, amount)
            if limit is None
            else f"{_number(name, amount)} of {_number(name, limit)}"
        )
        single = amount == 1 and limit is None
        parts.append(f"{told} {noun.removesuffix('s') if single else noun}".rstrip())
    return ", ".join(parts)


_NOUNS: Final = {
    "rounds": "rounds",
    "visits": "visits",
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "total_tokens": "tokens",
    "cost": "",
}


def _number(name: str, amount: float) -> str:
    return f"${amount:,.4f}" if name == "cost" else f"{amount:,.0f}"
