"""Tools as OpenAI's chat completions take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.tool_spec import ToolSpec

__all__ = ["chat_choice", "chat_tools"]


def chat_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.wire(tool.name),
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def chat_choice(choice: str, names: ToolNames) -> Any:
    """Which of them it may call."""
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": names.wire(choice)}}
