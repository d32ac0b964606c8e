"""Tools: what a workflow can do to the outside, with a contract, a permit and a receipt."""

from __future__ import annotations

from agentflow.tools.context import ToolContext
from agentflow.tools.execution import run_calls
from agentflow.tools.repeats import RepeatLimit
from agentflow.tools.results import CallResults
from agentflow.tools.tool import Tool, tool
from agentflow.tools.toolkit import Toolkit

__all__ = [
    "CallResults",
    "RepeatLimit",
    "Tool",
    "ToolContext",
    "Toolkit",
    "run_calls",
    "tool",
]
