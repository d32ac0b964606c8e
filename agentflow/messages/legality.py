"""Legality: whether a history can be sent as it is. Most can, at every step of an agent, and are not gone through piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentflow.messages.call_id import is_fit
from agentflow.messages.fitting import fit
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart

__all__ = ["is_legal"]


def is_legal(messages: Sequence[Message], *, internal: Collection[str] = ()) -> bool:
    """Whether nothing is to be repaired, told in one pass.

    It may say no of a history in which there is nothing to repair, such as one with a call that could not be read; never yes
    of another.
    """
    taken: set[str] = set()
    due: _Named = ()
    spoken = False
    for message in messages:
        try:
            named = message._named
        except AttributeError:
            named = _learned(message)
        if named is None:
            return False
        if due:
            # Nothing but their results may come, in their order.
            if message.role != "tool" or named != due[: len(named)]:
                return False
            due = due[len(named) :]
        elif message.role == "assistant":
            for id, name in named:
                if id in taken or name in internal:
                    return False
                taken.add(id)
            if not spoken:
                return False
            due = named
        elif message.role == "tool":
            return False
        elif message.role != "system":
            spoken = True
    return not due and (not messages or (spoken and messages[-1].role != "assistant"))


_Named = tuple[tuple[str, str], ...]
"""The id and the tool of each of some calls."""


def _learned(message: Message) -> _Named | None:
    """What `_names_in` gives, remembered with the message."""
    named = _names_in(message)
    object.__setattr__(message, "_named", named)
    return named


def _names_in(message: Message) -> _Named | None:
    """The calls that it makes, or has results of; `None` if it is to be repaired, wherever it stands."""
    if not message.content or fit(message) != message.content:
        return None
    results = message.tool_results
    if message.role == "tool":
        return tuple([(result.call_id, result.name) for result in results])
    if results or isinstance(message.content[-1], ReasoningPart):
        return None
    named: list[tuple[str, str]] = []
    for call in message.tool_calls:
        if call.error is not None or not is_fit(call.id):
            return None
        named.append((call.id, call.name))
    return tuple(named)
