"""An answer that is known already, as the chunks that it could have come in."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
)
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart, TextPart, ToolCall

__all__ = ["chunks_of"]


def chunks_of(answer: Message) -> Iterator[Chunk]:
    """One chunk for each part, and the end."""
    calls = 0
    for part in answer.content:
        match part:
            case TextPart(text=text):
                yield TextChunk(text)
            case ReasoningPart(text=text, vendor_data=vendor_data):
                yield ReasoningChunk(text, vendor_data=vendor_data)
            case ToolCall():
                text = (
                    json.dumps(part.arguments, ensure_ascii=False) if part.raw is None else part.raw
                )
                yield ToolCallChunk(calls, part.id, part.name, text, vendor_data=part.vendor_data)
                calls += 1
            case _:
                pass
    yield FinishChunk("tool_calls" if calls else "stop")
