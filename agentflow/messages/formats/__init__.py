"""The formats of vendors: a conversation as they take it, and back."""

from __future__ import annotations

from agentflow.messages.formats.anthropic import from_anthropic, to_anthropic
from agentflow.messages.formats.openai_chat import from_openai_chat, to_openai_chat
from agentflow.messages.formats.openai_responses import (
    from_openai_responses,
    to_openai_responses,
)
from agentflow.messages.formats.tool_names import ToolNames

__all__ = [
    "ToolNames",
    "from_anthropic",
    "from_openai_chat",
    "from_openai_responses",
    "to_anthropic",
    "to_openai_chat",
    "to_openai_responses",
]
