"""How a run that has ended stands in its journal, and how it is told again to whoever asks for it later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import (
    AgentflowError,
    BudgetExceeded,
    ContractError,
    IncompatibleRun,
    RunCancelled,
    RunFailed,
)
from agentflow.run.decide import told
from agentflow.run.entries import Entry
from agentflow.run.fold import state_at
from agentflow.run.stored import restored, stored

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.graph.plan import Plan

__all__ = ["Ended", "end_body", "ended"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended before: what came of it, what it had spent, and the state it left."""

    value: Any
    error: Exception | None
    used: Mapping[str, float]
    state: State


def ended(run_id: str, plan: Plan, entries: Sequence[Entry]) -> Ended:
    """How a run ended, by its journal.

    Raises:
        IncompatibleRun: The result cannot be restored by the code of today.
    """
    body = json.loads(entries[-1].body)
    state = _state_of(plan, entries)
    if "result" in body:
        return Ended(restored("the result", body["result"]), None, body["used"], state)
    return Ended(None, _error(run_id, body), body["used"], state)


def _state_of(plan: Plan, entries: Sequence[Entry]) -> State:
    try:
        return state_at(plan, entries, len(entries))
    except (ContractError, IncompatibleRun):
        # The outcome of a run stays what it is, whatever has become of the definition since.
        return plan.state_class()


def end_body(value: Any, error: BaseException | None, used: Mapping[str, float]) -> dict[str, Any]:
    """The body of the entry that ends a run.

    Raises:
        ContractError: The result has no stored form.
    """
    if error is None:
        return {"result": stored("the result", value), "used": used}
    body: dict[str, Any] = {"error": type(error).__name__, "message": told(error), "used": used}
    if isinstance(error, BudgetExceeded):
        limits = {"limit": error.limit, "allowed": error.allowed, "used": error.used}
        body["budget"] = {**limits, "where": error.where}
    if isinstance(error, RunCancelled):
        body["reason"] = None if error.reason is None else told(error.reason)
    return body


def _error(run_id: str, body: Mapping[str, Any]) -> AgentflowError:
    if "budget" in body:
        budget = body["budget"]
        return BudgetExceeded(
            budget["limit"], budget["allowed"], budget["used"], where=budget["where"]
        )
    if "reason" in body:
        return RunCancelled(body["reason"])
    return RunFailed(f"run {run_id!r} has failed: {body['error']}: {body['message']}")
