"""Tools as OpenAI's Responses API takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.tool_spec import ToolSpec

__all__ = ["responses_choice", "responses_tools"]


def responses_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "type": "function",
            "name": names.wire(tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
            # Else the vendor makes every parameter a required one.
            "strict": False,
        }
        for tool in tools
    ]


def responses_choice(choice: str, names: ToolNames) -> Any:
    """Which of them it may call."""
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": names.wire(choice)}
