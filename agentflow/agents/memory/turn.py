"""Turns: what memories keep, one for each call of an agent, and whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from agentflow.graph.codec import decoded, encoded
from agentflow.messages.message import Message

__all__ = ["Thread", "Turn", "messages_of", "text_of"]


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation. The same id under another resource is another conversation.

    Args:
        resource: Whose it is, such as the id of a user.
        id: Which of theirs.
    """

    resource: str
    id: str

    def is_of(self, resource: str, thread: str | None) -> bool:
        """Whether it belongs to a resource; and if `thread` is given, whether it is that conversation, or one below it."""
        if self.resource != resource:
            return False
        return thread is None or self.id == thread or self.id.startswith(f"{thread}/")


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said in one call of an agent: its input, and everything that model and tools have answered.

    Args:
        id: The id of the agent's run, which no other turn has.
        messages: The messages, in order; every tool call in them has its result.
    """

    id: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))


def text_of(messages: Iterable[Message]) -> str:
    """Messages as JSON, for adapters that keep text.

    Raises:
        Unstorable: Something in a message would not come back as it was.
    """
    data = [encoded(message) for message in messages]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a character, which no database takes as it is.
        return json.dumps(data, separators=(",", ":"))
    return text


def messages_of(text: str) -> tuple[Message, ...]:
    """The messages that `text_of` made a text of.

    Raises:
        Unstorable: The text is damaged, or of another version.
    """
    return tuple(decoded(data) for data in json.loads(text))
