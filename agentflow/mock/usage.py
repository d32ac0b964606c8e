"""Usage figures: what a mock model says that a call has used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from agentflow.messages.chunk import UsageChunk
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.mock.reply import MockReply
from agentflow.mock.request import MockRequest

__all__ = ["Usage", "usage_of", "word_usage", "words_of"]

Usage = UsageChunk | Callable[[MockRequest, MockReply], UsageChunk] | None
"""The figures themselves, a function that works them out, or `None` for none."""


def word_usage(request: MockRequest, reply: MockReply) -> UsageChunk:
    """Figures that grow with what is said: each word is a token, of tool names and arguments too.

    No model counts so; it is for tests that need figures which can be told beforehand.
    """
    output = sum(map(_words, (reply.reasoning, reply.text)))
    output += sum(_words(call.name) + _words(call.text) for call in reply.calls)
    return UsageChunk(input_tokens=words_of(request.messages), output_tokens=output)


def words_of(messages: Iterable[Message]) -> int:
    """How many words messages hold."""
    return sum(_words(text) for message in messages for text in _texts(message))


def usage_of(usage: Usage, request: MockRequest, reply: MockReply) -> UsageChunk | None:
    """The figures of one call."""
    return usage(request, reply) if callable(usage) else usage


def _texts(message: Message) -> Iterable[str]:
    for part in message.content:
        match part:
            case TextPart(text=text) | ReasoningPart(text=text) | ToolResult(content=text):
                yield text
            case ToolCall():
                yield part.name
                yield json.dumps(part.arguments) if part.raw is None else part.raw


def _words(text: str) -> int:
    return len(text.split())
