"""Trimming: a conversation made shorter by leaving out, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentflow.graph.argument import check_arguments, whole
from agentflow.messages.message import Message, all_messages, chars_of
from agentflow.messages.part import ToolResult
from agentflow.messages.shortening import (
    current_question,
    must_stay,
    split_leading,
    split_recent,
)

__all__ = ["cut_results", "trim"]

SHORTEST: Final = 200
"""A result of a tool is never cut to fewer characters: so few are no result any more."""


_WANTED: Final = {"max_chars": whole(0), "keep_recent": whole(0)}


def trim(
    messages: Sequence[Message], *, max_chars: int, keep_recent: int = 1
) -> tuple[Message, ...]:
    """The conversation with at most so many characters, if that can be.

    The oldest exchanges go first, calls together with their results. What stays in any case: the instructions at the
    beginning, the current question, pinned messages, calls that still wait for their result, and what is recent. If that is
    still too long, the longest results of tools are cut in the middle; see `cut_results`.

    Args:
        messages: The conversation.
        max_chars: How long it may be, in characters.
        keep_recent: How many of the last messages stay at least; exchanges stay whole.

    Raises:
        TypeError: Something in the conversation is no message.
        ValueError: A number is none, or below 0.
    """
    messages = all_messages(messages, of="trim")
    check_arguments("trim", _WANTED, {"max_chars": max_chars, "keep_recent": keep_recent})
    excess = chars_of(messages) - max_chars
    if excess <= 0:
        return tuple(messages)
    leading, talk = split_leading(messages)
    older, recent = split_recent(talk, keep_recent)
    question = current_question(messages)
    stays: list[Message] = []
    for exchange in older:
        if excess <= 0 or must_stay(exchange, question):
            stays += exchange
        else:
            excess -= chars_of(exchange)
    kept = [*leading, *stays, *(message for exchange in recent for message in exchange)]
    return cut_results(kept, max_chars=max_chars)


def cut_results(messages: Sequence[Message], *, max_chars: int) -> tuple[Message, ...]:
    """The conversation with its longest results of tools cut in the middle, until it has at most so many characters.

    Short results stay whole, and so do pinned messages. None is cut to fewer than about 200 characters, so that a conversation
    with too much else stays too long.

    Args:
        messages: The conversation.
        max_chars: How long it may be, in characters.
    """
    total = chars_of(messages)
    if total <= max_chars:
        return tuple(messages)
    sizes = [
        len(result.content)
        for message in messages
        if not message.pinned
        for result in message.tool_results
    ]
    longest = max(SHORTEST, _cap(sizes, max_chars - total + sum(sizes)))
    return tuple(
        message if message.pinned or not message.tool_results else _cut(message, longest)
        for message in messages
    )


def _cap(sizes: Sequence[int], room: int) -> int:
    """The largest size to which all can be cut so that together they have room."""
    left = room
    ordered = sorted(sizes)
    for at, size in enumerate(ordered):
        share = left // (len(ordered) - at)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _cut(message: Message, longest: int) -> Message:
    content = tuple(
        replace(part, content=_shortened(part.content, longest))
        if isinstance(part, ToolResult) and len(part.content) > longest
        else part
        for part in message.content
    )
    return message if content == message.content else replace(message, content=content)


def _shortened(text: str, longest: int) -> str:
    # The number of what is left out has at most as many digits as that of the whole.
    keep = longest - len(_left_out(len(text)))
    tail = keep // 3
    head = keep - tail
    return f"{text[:head]}{_left_out(len(text) - keep)}{text[len(text) - tail :]}"


def _left_out(count: int) -> str:
    return f"\n[… {count} characters left out …]\n"
