"""What people, models and tools say to each other: messages, and the chunks that become one."""

from __future__ import annotations

from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.messages.collector import Collector
from agentflow.messages.message import (
    Message,
    as_messages,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.messages.message_list import MessageList
from agentflow.messages.part import (
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from agentflow.messages.sanitising import (
    Repair,
    Sanitised,
    sanitise,
    strip_dangling_reasoning,
)
from agentflow.messages.tool_spec import ToolSpec

__all__ = [
    "Chunk",
    "Collector",
    "FilePart",
    "FinishChunk",
    "Message",
    "MessageList",
    "Part",
    "ReasoningChunk",
    "ReasoningPart",
    "Repair",
    "Sanitised",
    "TextChunk",
    "TextPart",
    "ToolCall",
    "ToolCallChunk",
    "ToolResult",
    "ToolSpec",
    "UsageChunk",
    "as_messages",
    "assistant",
    "sanitise",
    "strip_dangling_reasoning",
    "system",
    "tool_result",
    "user",
]
