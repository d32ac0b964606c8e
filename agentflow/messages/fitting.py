"""Fitting: which parts have a place under the role of their message, and what must be true of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from agentflow.messages.message import Message, Role
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.messages.proposal import reread_call, whole_value
from agentflow.messages.surrogates import whole_text

__all__ = ["fit"]

_PLACES: Final[Mapping[Role, tuple[type, ...]]] = {
    "system": (TextPart, FilePart),
    "user": (TextPart, FilePart),
    "assistant": (TextPart, FilePart, ReasoningPart, ToolCall),
    # What stands beside results would be read as somebody's words.
    "tool": (),
}


def fit(message: Message) -> tuple[Part, ...]:
    """The parts of a message that have a place in it, without blank texts and halves of characters.

    Results of tools have a place in every message: where they belong is for their calls to say. Arguments that can be read
    after all are read.
    """
    return tuple(_fitting(message))


def _fitting(message: Message) -> Iterator[Part]:
    places = _PLACES[message.role]
    for part in message.content:
        if isinstance(part, ToolResult):
            yield _with_content(part)
        elif not isinstance(part, places):
            continue
        elif isinstance(part, ToolCall):
            yield _with_arguments(part)
        elif isinstance(part, FilePart):
            yield part
        elif isinstance(part, TextPart):
            if part.text.strip():
                text = whole_text(part.text)
                yield part if text == part.text else TextPart(text)
        elif part.text.strip() or part.vendor_data:
            text = whole_text(part.text)
            yield part if text == part.text else replace(part, text=text)


def _with_content(part: ToolResult) -> ToolResult:
    content = whole_text(part.content)
    return part if content == part.content else replace(part, content=content)


def _with_arguments(part: ToolCall) -> ToolCall:
    if part.error is not None:
        part = reread_call(part)
    arguments = whole_value(part.arguments)
    return part if arguments == part.arguments else replace(part, arguments=arguments)
