"""Legality: whether a history can be sent as it is. Most can, at every step of an agent, and are not gone through piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentflow.messages.call_id import CallIds
from agentflow.messages.fitting import fit
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart, ToolCall, ToolResult

__all__ = ["is_legal"]


def is_legal(messages: Sequence[Message], *, internal: Collection[str] = ()) -> bool:
    """Whether nothing is to be repaired, told in one pass.

    It may say no of a history in which there is nothing to repair, such as one with a call that could not be read; never yes
    of another.
    """
    ids, at, spoken = CallIds(), 0, False
    while at < len(messages):
        message = messages[at]
        if not _is_whole(message) or message.role == "tool" or message.tool_results:
            return False
        at += 1
        if message.role == "assistant":
            calls = message.tool_calls
            if not spoken or isinstance(message.content[-1], ReasoningPart):
                return False
            if not all(_is_plain(call, ids, internal) for call in calls):
                return False
            end = _end_of_results(messages, at, calls)
            if end is None:
                return False
            at = end
        spoken = spoken or message.role != "system"
    return not messages or (spoken and messages[-1].role != "assistant")


def _is_whole(message: Message) -> bool:
    return bool(message.content) and fit(message) == message.content


def _is_plain(call: ToolCall, ids: CallIds, internal: Collection[str]) -> bool:
    return call.error is None and call.name not in internal and ids.take(call.id) == call.id


def _end_of_results(messages: Sequence[Message], at: int, calls: Sequence[ToolCall]) -> int | None:
    """The number of the message after the results of these calls, if they stand from `at` on, in order, and nothing beside."""
    done = 0
    while done < len(calls):
        if at == len(messages) or messages[at].role != "tool" or not _is_whole(messages[at]):
            return None
        for part in messages[at].content:
            if not isinstance(part, ToolResult) or done == len(calls):
                return None
            if (part.call_id, part.name) != (calls[done].id, calls[done].name):
                return None
            done += 1
        at += 1
    return at
