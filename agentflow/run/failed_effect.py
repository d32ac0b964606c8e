"""Effects that failed: recorded, so that what a run did is known whole, and so that a replay fails as the run did."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from agentflow import errors
from agentflow.errors import ToolError
from agentflow.run.decide import told

__all__ = ["failure_data", "failure_of"]


def failure_data(error: Exception) -> dict[str, Any]:
    """What is recorded of the error of an effect."""
    data = {"error": type(error).__name__, "message": told(error)}
    return data | {"tool": error.tool_id} if isinstance(error, ToolError) else data


def failure_of(data: Mapping[str, Any]) -> Exception:
    """An error like the recorded one: of the same class where that is one of Python's or ours, else of one called alike."""
    name, message = data["error"], data["message"]
    kind = getattr(errors, name, None) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = type(name, (Exception,), {})
    try:
        error: Exception = kind(data["tool"], message) if "tool" in data else kind(message)
    except Exception:
        # Its class wants more than a message.
        error = type(name, (Exception,), {})(message)
    return error
