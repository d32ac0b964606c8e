"""Turns: what memories keep, one for each call of an agent, and whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from agentflow.graph.argument import NAME, TEXT, check_fields
from agentflow.graph.codec import Unstorable, decoded, encoded
from agentflow.messages.message import Message, all_messages

__all__ = ["Thread", "Turn", "messages_of", "text_of"]


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation. The same id under another resource is another conversation.

    Args:
        resource: Whose it is, such as the id of a user.
        id: Which of theirs.

    Raises:
        TypeError: One of them is no text, or an empty one.
    """

    resource: str
    id: str

    def __post_init__(self) -> None:
        check_fields(self, {"resource": NAME, "id": NAME})

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

    Raises:
        TypeError: The id is no text, or something in it is no message.
    """

    id: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        check_fields(self, {"id": NAME})
        object.__setattr__(self, "messages", all_messages(self.messages, of="Turn"))


def text_of(messages: Iterable[Message]) -> str:
    """Messages as JSON, for adapters that keep text.

    Raises:
        TypeError: Something among them is no message.
        Unstorable: Something in a message would not come back as it was.
    """
    data = [encoded(message) for message in all_messages(messages, of="text_of")]
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
        TypeError: It is no text.
        Unstorable: The text is damaged, or of another version.
    """
    TEXT.check("text", text, of="messages_of")
    try:
        data = json.loads(text)
    except ValueError as error:
        raise Unstorable(f"the stored text is damaged: it is no JSON: {error}") from error
    found = decoded(data) if not isinstance(data, list) else tuple(map(decoded, data))
    if not isinstance(found, tuple) or not all(isinstance(one, Message) for one in found):
        raise Unstorable("the stored text is damaged: it is no list of messages")
    return found
