"""Shorter conversations: what may be left out of one, and what must stay whatever else goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentflow.errors import ContractError
from agentflow.messages.message import Message

__all__ = ["check_shortened", "current_question", "exchanges", "pending_calls", "split_recent"]

Exchange = tuple[Message, ...]


def exchanges(messages: Iterable[Message]) -> list[Exchange]:
    """The messages in groups that belong together: an answer with tool calls and their results, or one message alone."""
    found: list[list[Message]] = []
    open_calls: set[str] = set()
    for message in messages:
        answered = {result.call_id for result in message.tool_results}
        if found and answered & open_calls:
            found[-1].append(message)
        else:
            found.append([message])
            open_calls = {call.id for call in message.tool_calls}
    return [tuple(group) for group in found]


def split_recent(messages: Sequence[Message], keep: int) -> tuple[list[Exchange], list[Exchange]]:
    """The older exchanges, and the recent ones with at least `keep` messages; none is torn apart."""
    groups = exchanges(messages)
    at, kept = len(groups), 0
    while at and kept < keep:
        at -= 1
        kept += len(groups[at])
    return groups[:at], groups[at:]


def check_shortened(before: Sequence[Message], after: Sequence[Message]) -> None:
    """See that nothing is lost that must stay: the current question, what is pinned, and calls that wait; no call lost its result.

    Args:
        before: The conversation as it was.
        after: The same, shorter.

    Raises:
        ContractError: Something is lost; the message says what.
    """
    there = {_known_by(message) for message in after}
    lost = [
        f"{what} {_shown(message)}"
        for what, message in _needed(before)
        if _known_by(message) not in there
    ]
    calls = {call.id for message in after for call in message.tool_calls}
    results = {result.call_id for message in after for result in message.tool_results}
    had = {result.call_id for message in before for result in message.tool_results}
    waiting = sorted(pending_calls(before) - calls)
    lost += [f"the tool call {id!r}, which waits for its result" for id in waiting]
    lost += [f"the result of the tool call {id!r}" for id in sorted((calls & had) - results)]
    lost += [f"the tool call {id!r} of a result" for id in sorted(results - calls)]
    if lost:
        raise ContractError(f"the shortened conversation has lost {'; '.join(lost)}")


def pending_calls(messages: Iterable[Message]) -> set[str]:
    """The ids of tool calls that have no result yet, perhaps because a person has to agree to them."""
    called, answered = set[str](), set[str]()
    for message in messages:
        called |= {call.id for call in message.tool_calls}
        answered |= {result.call_id for result in message.tool_results}
    return called - answered


def current_question(messages: Sequence[Message]) -> Message | None:
    """What was last asked from outside; `None` in a conversation without a user."""
    asked = [message for message in messages if message.role == "user"]
    said = [message for message in asked if message.provenance == "input"] or asked
    return said[-1] if said else None


def _needed(messages: Sequence[Message]) -> list[tuple[str, Message]]:
    current = current_question(messages)
    needed = [] if current is None else [("the current question", current)]
    return needed + [("the pinned message", message) for message in messages if message.pinned]


def _known_by(message: Message) -> tuple[str, bool]:
    return message.digest, message.pinned


def _shown(message: Message) -> str:
    text = message.text
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
