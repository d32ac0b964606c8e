"""The collector: chunks in, one assistant message out. Arguments are read once, when everything is there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from agentflow.errors import ModelError
from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    FinishReason,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.messages.message import Message
from agentflow.messages.part import Part, ReasoningPart, TextPart, ToolCall

__all__ = ["Collector"]


@dataclass(slots=True)
class _Text:
    kind: type[TextPart | ReasoningPart]
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)


class Collector:
    """Gathers the chunks of one answer.

    Args:
        origin: The id of the model call; ids for tool calls that have none are made from it.

    Attributes:
        finish_reason: Why the model stopped; `None` until it has said so.
        chars: How many characters of content came so far.
    """

    __slots__ = ("_calls", "_origin", "_parts", "_usage", "chars", "finish_reason")

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self._parts: list[_Text | _Call] = []
        self._calls: dict[int, _Call] = {}
        self._usage: dict[str, float] = {}
        self.finish_reason: FinishReason | None = None
        self.chars = 0

    def add(self, chunk: Chunk) -> int:
        """Take one chunk; tells how many characters of content it brought.

        Raises:
            ModelError: It is no chunk, or content that comes after the end.
        """
        match chunk:
            case TextChunk(text=text):
                self._add_text(TextPart, text)
                size = len(text)
            case ReasoningChunk(text=text):
                self._add_text(ReasoningPart, text)
                size = len(text)
            case ToolCallChunk():
                size = self._add_call(chunk)
            case UsageChunk():
                self._usage.update(chunk.known())
                return 0
            case FinishChunk(reason=reason):
                self.finish_reason = reason
                return 0
            case _:
                raise ModelError(
                    f"the provider sent {type(chunk).__name__}, which is no chunk: it hands out TextChunk, "
                    f"ReasoningChunk, ToolCallChunk, UsageChunk and FinishChunk of agentflow.messages"
                )
        if self.finish_reason is not None:
            raise ModelError(f"the provider sent {chunk.type} after the end of the answer")
        self.chars += size
        return size

    @property
    def usage(self) -> dict[str, float]:
        """The latest usage figures, by name; the total is added up when the provider gave none."""
        figures = dict(self._usage)
        if "total_tokens" not in figures and {"input_tokens", "output_tokens"} <= figures.keys():
            figures["total_tokens"] = figures["input_tokens"] + figures["output_tokens"]
        return figures

    def _add_text(self, kind: type[TextPart | ReasoningPart], text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if not isinstance(last, _Text) or last.kind is not kind:
            last = _Text(kind)
            self._parts.append(last)
        last.pieces.append(text)

    def _add_call(self, chunk: ToolCallChunk) -> int:
        call = self._calls.get(chunk.index)
        # Some servers count every call as number 0; another id tells that it is another call.
        if call is None or (chunk.id and call.id and chunk.id != call.id):
            call = self._calls[chunk.index] = _Call()
            self._parts.append(call)
        call.id = call.id or chunk.id or None
        size = len(chunk.arguments)
        # Some servers repeat the name in every piece.
        if not call.name and chunk.name:
            call.name = chunk.name
            size += len(chunk.name)
        if chunk.arguments:
            call.pieces.append(chunk.arguments)
        return size

    def message(self) -> Message:
        """The whole answer.

        Raises:
            ModelError: The answer was cut off: its end never came.
        """
        if self.finish_reason is None:
            raise ModelError(
                "the answer was cut off: the stream ended without a FinishChunk; nothing of it is used"
            )
        parts: list[Part] = []
        taken: set[str] = set()
        for part in self._parts:
            if isinstance(part, _Text):
                text = "".join(part.pieces)
                if text:
                    parts.append(part.kind(text))
                continue
            id = part.id
            if id is None or id in taken:
                id = self._made_id(len(taken))
            taken.add(id)
            parts.append(_tool_call(id, part.name, "".join(part.pieces)))
        return Message("assistant", tuple(parts), "model", self._origin or None)

    def _made_id(self, number: int) -> str:
        # From the call's own key, so that going through the same records again makes the same id.
        seed = f"{self._origin}/{number}".encode("utf-8", "surrogatepass")
        return f"call_{hashlib.sha256(seed).hexdigest()[:20]}"


def _tool_call(id: str, name: str, text: str) -> ToolCall:
    if not text.strip():
        return ToolCall(id, name)
    try:
        arguments = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = f"the arguments are no valid JSON ({error})"
        return ToolCall(id, name, {}, reason, text)
    if not isinstance(arguments, dict):
        reason = f"the arguments must be a JSON object, not {_json_kind(arguments)}"
        return ToolCall(id, name, {}, reason, text)
    return ToolCall(id, name, arguments)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _json_kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"
