"""Shorter conversations: what may be left out of one, and what must stay whatever else goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agentflow.errors import ContractError
from agentflow.messages.message import Message
from agentflow.messages.pairing import Pairing, pairing_of

__all__ = [
    "Exchange",
    "check_shortened",
    "current_question",
    "exchanges",
    "must_stay",
    "split_leading",
    "split_recent",
]

Exchange = tuple[Message, ...]


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The messages in groups that belong together: an answer with all up to its last result, or one message alone."""
    ends = list(range(len(messages)))
    for pair in pairing_of(messages).pairs:
        if pair.result_at is not None:
            ends[pair.at] = max(ends[pair.at], pair.result_at)
    found: list[Exchange] = []
    start = 0
    while start < len(messages):
        at, end = start, ends[start]
        # Another answer may lie in between, with results that come later still.
        while at < end:
            at += 1
            end = max(end, ends[at])
        found.append(tuple(messages[start : end + 1]))
        start = end + 1
    return found


def split_leading(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """The instructions at the beginning, and the conversation."""
    at = 0
    while at < len(messages) and messages[at].role == "system":
        at += 1
    return messages[:at], messages[at:]


def split_recent(messages: Sequence[Message], keep: int) -> tuple[list[Exchange], list[Exchange]]:
    """The older exchanges, and the recent ones with at least `keep` messages; none is torn apart."""
    groups = exchanges(messages)
    at, kept = len(groups), 0
    while at and kept < keep:
        at -= 1
        kept += len(groups[at])
    return groups[:at], groups[at:]


def must_stay(exchange: Exchange, question: Message | None) -> bool:
    """Whether an exchange must not be left out: the current question, a pinned message or a call that still waits is in it."""
    if any(message.pinned or message is question for message in exchange):
        return True
    return bool(pairing_of(exchange).pending)


def check_shortened(before: Sequence[Message], after: Sequence[Message]) -> None:
    """See that nothing is lost that must stay, and that no call lost its result.

    What must stay is the current question, what is pinned, and calls that still wait for their result.

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
    lost += _torn(pairing_of(before), pairing_of(after))
    if lost:
        raise ContractError(f"the shortened conversation has lost {'; '.join(lost)}")


def _torn(before: Pairing, after: Pairing) -> Iterator[str]:
    """What is lost of calls and results that had each other, and of calls that wait."""
    waited = Counter(call.id for call in before.pending)
    called = Counter(pair.call.id for pair in after.pairs)
    for id in sorted(waited - called):
        yield f"the tool call {id!r}, which waits for its result"
    for id in sorted(Counter(call.id for call in after.pending) - waited):
        yield f"the result of the tool call {id!r}"
    orphans = Counter(result.call_id for _, result in before.orphans)
    for id in sorted(Counter(result.call_id for _, result in after.orphans) - orphans):
        yield f"the tool call {id!r} of a result"


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
