"""Replies: what a mock model answers, as data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from agentflow.messages.chunk import FinishReason, UsageChunk
from agentflow.mock.fault import Fault

__all__ = ["MockCall", "MockReply", "call", "calls", "object_reply", "reply_of"]


@dataclass(frozen=True, slots=True)
class MockCall:
    """A tool call that a reply proposes.

    Args:
        name: The tool.
        arguments: What it is to be given, or the raw text of the arguments, broken on purpose perhaps.
        id: The call's id; default: `call_1`, `call_2` … over the conversation.
    """

    name: str
    arguments: Mapping[str, Any] | str = dataclasses.field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MockReply:
    """One answer of a mock model.

    Args:
        text: What it says.
        calls: The tool calls that it proposes, after the text.
        reasoning: What it says to itself first.
        usage: The figures that it reports; default: those of the model.
        finish: Why it stops; default: `tool_calls` with calls, else `stop`.
        delay: Seconds before its first chunk, by the model's clock.
        pace: Seconds between its chunks.
        error: What is raised after everything else was sent: `Refused` for an HTTP error, `ConnectionResetError`, or any other.
        fault: How the answer breaks off after everything else was sent, in place of its end: `cut`, `reset`, `stall` or
            `malformed`.

    Raises:
        ValueError: There is no such fault, it has both a fault and an error, or a negative time.
    """

    text: str = ""
    calls: tuple[MockCall, ...] = ()
    reasoning: str = ""
    usage: UsageChunk | None = None
    finish: FinishReason | None = None
    delay: float = 0.0
    pace: float = 0.0
    error: Exception | None = None
    fault: Fault | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", tuple(self.calls))
        if self.fault is not None and self.fault not in get_args(Fault):
            known = ", ".join(map(repr, get_args(Fault)))
            raise ValueError(f"MockReply(fault={self.fault!r}): there are {known}")
        if self.fault is not None and self.error is not None:
            raise ValueError("MockReply(fault=…, error=…): an answer breaks off in one way only")
        if not (self.delay >= 0 and self.pace >= 0):
            raise ValueError(
                f"MockReply(delay={self.delay!r}, pace={self.pace!r}): no time is negative"
            )

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stops."""
        if self.finish is not None:
            return self.finish
        return "tool_calls" if self.calls else "stop"


def call(name: str, /, **arguments: Any) -> MockReply:
    """A reply that proposes one tool call; an argument may be called `name` as well."""
    return MockReply(calls=(MockCall(name, arguments),))


def calls(*replies: MockReply) -> MockReply:
    """A reply that proposes the tool calls of several at once: `calls(call("a", x=1), call("b"))`."""
    return MockReply(
        text="".join(reply.text for reply in replies),
        calls=tuple(call for reply in replies for call in reply.calls),
    )


def reply_of(value: Any, *, forced: str | None = None) -> MockReply:
    """What a rule gives, as a reply: a reply, a text, an error, or an object.

    Args:
        value: What the rule gives.
        forced: The tool that the request forces.

    Raises:
        TypeError: It is nothing that could be said.
    """
    match value:
        case MockReply():
            return value
        case MockCall():
            return MockReply(calls=(value,))
        case str():
            return MockReply(text=value)
        case Exception():
            return MockReply(error=value)
        case type() if issubclass(value, Exception):
            return MockReply(error=value())
        case Iterable() if (items := tuple(value)) and all(
            isinstance(item, MockCall) for item in items
        ):
            return MockReply(calls=items)
        case _:
            return object_reply(value, forced=forced)


def object_reply(value: Any, *, forced: str | None = None) -> MockReply:
    """A value said as JSON or, where the request forces a tool and the value is an object, as the arguments of that tool.

    Raises:
        TypeError: It is no value that JSON can say.
    """
    text = _as_json(value)
    if forced is not None and text.startswith("{"):
        return MockReply(calls=(MockCall(forced, text),))
    return MockReply(text=text)


def _as_json(value: Any) -> str:
    from pydantic_core import to_json

    if isinstance(value, type) or callable(value):
        raise TypeError(f"{value!r} is no reply: a function is called with the request by its rule")
    return to_json(value).decode()
