"""Tools as Anthropic's Messages API takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.graph.frozen import thaw
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.tool_spec import ToolSpec

__all__ = ["anthropic_choice", "anthropic_tools"]


def anthropic_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "name": names.wire(tool.name),
            "description": tool.description,
            "input_schema": {"type": "object", **thaw(tool.parameters)},
        }
        for tool in tools
    ]


def anthropic_choice(choice: str, names: ToolNames) -> dict[str, Any]:
    """Which of them it may call."""
    match choice:
        case "auto" | "none":
            return {"type": choice}
        case "required":
            return {"type": "any"}
        case _:
            return {"type": "tool", "name": names.wire(choice)}
