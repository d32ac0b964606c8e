"""How a run ended, and how that is told: a result or one document on stdout, an exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentflow.errors import AgentflowError, RunCancelled, RunConflict, RunInterrupted
from agentflow.run.suspension import Request

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one run.

    Args:
        run_id: The run.
        workflow: The id of its workflow.
        version: The version of that.
        status: `completed`, `failed` or `cancelled`; a durable run may have stopped as `suspended` or `interrupted` too.
        value: The result; `None` unless it completed.
        error: What it raised; `None` if it completed or waits.
        used: What was spent, by limit.
        allowed: The limits that were set.
        abandoned: Whether code was left behind that did not stop.
        requests: What it waits for, if it is suspended.
        due: Till when it waits at most.
    """

    run_id: str
    workflow: str
    version: str
    status: str
    value: Any
    error: BaseException | None
    used: dict[str, float]
    allowed: dict[str, float]
    abandoned: bool
    requests: tuple[Request, ...] = ()
    due: datetime | None = None

    @property
    def exit_code(self) -> int:
        """0 completed, 1 failed, 2 not begun for what the user gave, 3 suspended, 130 cancelled, 143 stopped to go on later."""
        if isinstance(self.error, RunConflict):
            return 2
        if isinstance(self.error, RunInterrupted):
            return 143
        return {"completed": 0, "suspended": 3, "cancelled": 130}.get(self.status, 1)

    def result_text(self) -> str:
        """The result as a person wants it: text as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else _json(self.value)

    def document(self) -> str:
        """Everything about the end as one JSON document."""
        document = {
            "run_id": self.run_id,
            "workflow": {"id": self.workflow, "version": self.version},
            "status": self.status,
            "result": self.value,
            "error": None if self.error is None else _error(self.error),
            "ledger": {"used": self.used, "allowed": self.allowed},
        }
        if self.status == "suspended":
            document["requests"] = [request.as_dict() for request in self.requests]
            document["due"] = None if self.due is None else self.due.isoformat()
        return _json(document)


def _error(error: BaseException) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "code": error.code if isinstance(error, AgentflowError) else None,
        "message": str(error),
        "notes": list(getattr(error, "__notes__", ())),
        "reason": str(error.reason) if isinstance(error, RunCancelled) else None,
    }


def _json(value: Any) -> str:
    """JSON of whatever a run may deliver: pydantic knows how, and what it does not know is written as its text."""
    from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

    try:
        text = to_json(
            value, indent=2, fallback=str, bytes_mode="base64", inf_nan_mode="strings"
        ).decode()
    except PydanticSerializationError:
        # Text that is no Unicode, such as half of a surrogate pair, has a spelling in JSON all the same.
        plain = to_jsonable_python(value, fallback=str, bytes_mode="base64", inf_nan_mode="strings")
        text = json.dumps(plain, indent=2)
    return text
