"""Tools: what a workflow can do to the outside, with a contract, a permit and a receipt."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentflow.tools.context import ToolContext
from agentflow.tools.output import ToolOutput
from agentflow.tools.tool import Tool, tool
from agentflow.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from agentflow.tools.execution import run_calls
    from agentflow.tools.repeats import RepeatLimit
    from agentflow.tools.results import CallResults

__all__ = [
    "CallResults",
    "RepeatLimit",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "Toolkit",
    "run_calls",
    "tool",
]

# What carries out calls stands on the engine; a definition that only has tools must not load it.
_HOMES = {
    "CallResults": "agentflow.tools.results",
    "RepeatLimit": "agentflow.tools.repeats",
    "run_calls": "agentflow.tools.execution",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
