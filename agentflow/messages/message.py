"""Messages: immutable, made of parts, and each with its provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final, Literal, get_args

from agentflow.graph.argument import FLAG, LIST, TEXT, Wanted, check_fields, one_of, or_none
from agentflow.graph.excerpt import excerpt
from agentflow.graph.frozen import Lasting
from agentflow.messages.part import (
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
)

__all__ = [
    "Message",
    "Provenance",
    "Role",
    "all_messages",
    "as_messages",
    "assistant",
    "chars_of",
    "digests_of",
    "system",
    "tool_result",
    "user",
]

Role = Literal["system", "user", "assistant", "tool"]
Provenance = Literal["input", "notice", "memory", "contributed", "model", "tool"]
"""Who made a message."""


_PARTS: Final = get_args(Part)


class _Remembered(Lasting):
    """Room for what is worked out once of a message, beside its fields: a long conversation is looked at at every step."""

    __slots__ = ("_chars", "_digest", "_named")
    _chars: int
    _digest: str
    _named: tuple[tuple[str, str], ...] | None


_ROLES: Final = get_args(Role)
_PROVENANCES: Final = get_args(Provenance)
_WANTED: Final = {
    "role": one_of(*_ROLES),
    "provenance": one_of(*_PROVENANCES),
    "id": or_none(TEXT),
    "pinned": FLAG,
    "content": Wanted(
        lambda content: isinstance(content, Iterable), "a list of parts; or use user(text)"
    ),
}


@dataclass(frozen=True, slots=True)
class Message(_Remembered):
    """One thing that was said, by whom, and where it comes from.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        content: Its parts, in order.
        provenance: Who made it: `input` the caller, `notice` the host, `memory` a store, `contributed` code of the
            application, `model` a model, `tool` a tool.
        id: Its name in a log; `None` until it is given one.
        pinned: Whether it must stay when the conversation is made shorter: the condition of a permission, a source that
            an answer must keep to.

    Raises:
        TypeError: One of them is of the wrong kind.
        ValueError: There is no such role or provenance.
    """

    role: Role
    content: tuple[Part, ...]
    provenance: Provenance = "input"
    id: str | None = None
    pinned: bool = False

    def __post_init__(self) -> None:
        # Of the many that a run makes, only a wrong one pays for what is said of it.
        if (
            self.role not in _ROLES
            or self.provenance not in _PROVENANCES
            or not (self.id is None or isinstance(self.id, str))
            or not isinstance(self.pinned, bool)
            or not isinstance(self.content, tuple)
        ):
            check_fields(self, _WANTED)
        if type(self.content) is not tuple:
            object.__setattr__(self, "content", tuple(self.content))
        for part in self.content:
            if not isinstance(part, _PARTS):
                raise TypeError(
                    f"{part!r} is no part of a message: content is made of TextPart, ReasoningPart, FilePart, "
                    f"ToolCall and ToolResult; for a plain text use user(text), system(text) or assistant(text)"
                )

    def named(self, id: str) -> Message:
        """The same message by another name."""
        return Message(self.role, self.content, self.provenance, id, self.pinned)

    @property
    def text(self) -> str:
        """Everything that is said in it, reasoning and tools left out."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """What the model said to itself."""
        return "".join(part.text for part in self.content if isinstance(part, ReasoningPart))

    @property
    def files(self) -> tuple[FilePart, ...]:
        """The files that go with it, in order."""
        return tuple(part for part in self.content if isinstance(part, FilePart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that it proposes, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of tool calls that it carries, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolResult)])

    @property
    def chars(self) -> int:
        """Its size: the characters of its texts, tool arguments and results; a file has none."""
        try:
            return self._chars
        except AttributeError:
            return _learned_chars(self)

    @property
    def digest(self) -> str:
        """A digest of what it says, the same in every process; where it comes from and where it stays does not count."""
        try:
            return self._digest
        except AttributeError:
            return _learned_digest(self)


def digests_of(messages: Iterable[Message]) -> tuple[str, ...]:
    """The digest of each; those that are known cost no call, because a conversation is asked for them at every step."""
    found: list[str] = []
    for message in messages:
        try:
            found.append(message._digest)
        except AttributeError:
            found.append(_learned_digest(message))
    return tuple(found)


def chars_of(messages: Iterable[Message]) -> int:
    """Their size together, in the same way."""
    chars = 0
    for message in messages:
        try:
            chars += message._chars
        except AttributeError:
            chars += _learned_chars(message)
    return chars


def _learned_digest(message: Message) -> str:
    said = repr((message.role, [_said_in(part) for part in message.content]))
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    object.__setattr__(message, "_digest", digest)
    return digest


def _learned_chars(message: Message) -> int:
    chars = sum(map(_chars_of, message.content))
    object.__setattr__(message, "_chars", chars)
    return chars


_SAID: Final[Mapping[type, Callable[[Any], object]]] = {
    kind: attrgetter(*(field.name for field in fields(kind)))
    for kind in (TextPart, ReasoningPart, ToolCall, ToolResult)
}
"""What the fields of the plain parts hold; writing out the values takes a third of what writing out the parts does."""


def _said_in(part: Part) -> object:
    said = _SAID.get(type(part))
    return part if said is None else said(part)


_JSON: Final = json.JSONEncoder(ensure_ascii=False, default=repr)


def _chars_of(part: Part) -> int:
    match part:
        case TextPart() | ReasoningPart():
            return len(part.text)
        case ToolResult():
            return len(part.content)
        case ToolCall():
            if not part.arguments:
                return len(part.name)
            return len(part.name) + len(_JSON.encode(part.arguments))
        case FilePart():
            return 0


def system(
    text: str,
    *,
    provenance: Provenance = "contributed",
    id: str | None = None,
    pinned: bool = False,
) -> Message:
    """An instruction to the model."""
    return Message("system", (TextPart(text),), provenance, id, pinned)


def user(
    text: str,
    *,
    files: Iterable[FilePart] = (),
    provenance: Provenance = "input",
    id: str | None = None,
    pinned: bool = False,
) -> Message:
    """Something that the user says, and the files that go with it."""
    LIST.check("files", files, of="user")
    return Message("user", (TextPart(text), *files), provenance, id, pinned)


def assistant(
    text: str = "",
    *,
    tool_calls: Iterable[ToolCall] = (),
    reasoning: str = "",
    provenance: Provenance = "model",
    id: str | None = None,
) -> Message:
    """Something that the model says, or proposes to do."""
    LIST.check("tool_calls", tool_calls, of="assistant")
    parts: list[Part] = []
    if reasoning:
        parts.append(ReasoningPart(reasoning))
    if text != "":
        parts.append(TextPart(text))
    return Message("assistant", (*parts, *tool_calls), provenance, id)


def tool_result(
    call: ToolCall,
    content: str,
    *,
    is_error: bool = False,
    files: Iterable[FilePart] = (),
    provenance: Provenance = "tool",
    id: str | None = None,
) -> Message:
    """What came of a tool call."""
    if not isinstance(call, ToolCall):
        raise TypeError(f"tool_result({excerpt(call)}): give the ToolCall that this came of")
    if files != ():
        LIST.check("files", files, of="tool_result")
        files = tuple(files)
    part = ToolResult(call.id, call.name, content, is_error, files)
    return Message("tool", (part,), provenance, id)


def all_messages(given: Iterable[Message], *, of: str) -> tuple[Message, ...]:
    """A conversation that code of the application gives, where nothing but messages is taken.

    Args:
        given: The conversation.
        of: Whose argument it is.

    Raises:
        TypeError: It is none, or something in it is no message.
    """
    LIST.check("messages", given, of=of)
    messages = tuple(given)
    if set(map(type, messages)) == _MESSAGES:
        return messages
    for at, message in enumerate(messages):
        if not isinstance(message, Message):
            raise TypeError(
                f"{of}: messages[{at}]={excerpt(message)} is no Message; as_messages(…) makes them of texts"
            )
    return messages


def as_messages(input: object) -> tuple[Message, ...]:
    """What a caller gives as input, as messages: a text, a message, or several of either.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(input, str):
        return (user(input),)
    if isinstance(input, Message):
        return (input,)
    if not isinstance(input, (list, tuple)) and (
        isinstance(input, Mapping) or not isinstance(input, Iterable)
    ):
        raise TypeError(_refusal(input))
    items = tuple(input)
    # A conversation holds nothing else, and is handed on at every step.
    return items if set(map(type, items)) == _MESSAGES else tuple(map(_as_message, items))


_MESSAGES: Final = {Message}


def _as_message(item: object) -> Message:
    match item:
        case Message():
            return item
        case str():
            return user(item)
        case _:
            raise TypeError(_refusal(item))


def _refusal(value: object) -> str:
    return (
        f"{type(value).__name__} is no input for a model: give a text, a Message "
        f"(made with system, user, assistant or tool_result), or a list of them"
    )
