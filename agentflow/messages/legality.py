"""Legality: whether a history can be sent as it is. Most can, at every step of an agent, and are not gone through piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentflow.messages.call_id import CallIds
from agentflow.messages.fitting import fits
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart, ToolCall, ToolResult

__all__ = ["is_legal"]


def is_legal(messages: Sequence[Message], *, internal: Collection[str] = ()) -> bool:
    """Whether nothing is to be repaired, told in one pass.

    It may say no of a history in which there is nothing to repair, such as one with a call that could not be read; never yes
    of another.
    """
    ids, spoken = CallIds(), False
    due: list[ToolCall] = []
    for message in messages:
        if not fits(message):
            return False
        if due:
            if message.role != "tool" or not _answers(message, due):
                return False
            continue
        if message.role == "tool" or message.tool_results:
            return False
        if message.role == "assistant":
            calls = message.tool_calls
            if not spoken or isinstance(message.content[-1], ReasoningPart):
                return False
            if not all(_is_plain(call, ids, internal) for call in calls):
                return False
            due.extend(reversed(calls))
        elif message.role != "system":
            spoken = True
    return not due and (not messages or (spoken and messages[-1].role != "assistant"))


def _is_plain(call: ToolCall, ids: CallIds, internal: Collection[str]) -> bool:
    return call.error is None and call.name not in internal and ids.take(call.id) == call.id


def _answers(message: Message, due: list[ToolCall]) -> bool:
    """Whether it holds results of the calls that wait for one, in their order, and nothing beside; takes those calls away."""
    for part in message.content:
        if not isinstance(part, ToolResult) or not due:
            return False
        call = due.pop()
        if (part.call_id, part.name) != (call.id, call.name):
            return False
    return True
