"""The collector: chunks in, one assistant message out. Arguments are read once, when everything is there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

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
from agentflow.messages.part import Part, ReasoningPart, TextPart, VendorData
from agentflow.messages.proposal import read_call
from agentflow.messages.surrogates import whole_text

__all__ = ["Collector"]


@dataclass(slots=True)
class _Text:
    kind: type[TextPart | ReasoningPart]
    pieces: list[str] = field(default_factory=list)
    vendor_data: VendorData | None = None

    def part(self) -> Part | None:
        """What the pieces make; `None` if that is nothing."""
        text = whole_text("".join(self.pieces))
        if self.kind is TextPart:
            return TextPart(text) if text else None
        return ReasoningPart(text, self.vendor_data) if text or self.vendor_data else None


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    vendor_data: VendorData | None = None


class Collector:
    """Gathers the chunks of one answer.

    Args:
        origin: The id of the model call; ids for tool calls that have none are made from it.

    Attributes:
        finish_reason: Why the model stopped; `None` until it has said so.
        chars: How many characters of content came so far.
        begun: Whether anything came so far.
    """

    __slots__ = ("_calls", "_origin", "_parts", "_usage", "begun", "chars", "finish_reason")

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self._parts: list[_Text | _Call] = []
        self._calls: dict[int, _Call] = {}
        self._usage: dict[str, float] = {}
        self.finish_reason: FinishReason | None = None
        self.chars = 0
        self.begun = False

    def add(self, chunk: Chunk) -> int:
        """Take one chunk; tells how many characters of content it brought.

        Raises:
            ModelError: It is no chunk, or content that comes after the end.
        """
        self.begun = True
        match chunk:
            case TextChunk(text=text):
                self._add_text(TextPart, text)
                size = len(text)
            case ReasoningChunk(text=text, vendor_data=vendor_data):
                self._add_text(ReasoningPart, text, vendor_data)
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

    def _add_text(
        self,
        kind: type[TextPart | ReasoningPart],
        text: str,
        vendor_data: VendorData | None = None,
    ) -> None:
        last = self._parts[-1] if self._parts else None
        if not isinstance(last, _Text) or last.kind is not kind or last.vendor_data is not None:
            last = _Text(kind)
            self._parts.append(last)
        last.pieces.append(text)
        last.vendor_data = vendor_data

    def _add_call(self, chunk: ToolCallChunk) -> int:
        call = self._calls.get(chunk.index)
        # Some servers count every call as number 0; another id tells that it is another call.
        if call is None or (chunk.id and call.id and chunk.id != call.id):
            call = self._calls[chunk.index] = _Call()
            self._parts.append(call)
        call.id = call.id or chunk.id or None
        call.vendor_data = call.vendor_data or chunk.vendor_data
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
                made = part.part()
                if made is not None:
                    parts.append(made)
                continue
            id = part.id
            if id is None or id in taken:
                id = self._made_id(len(taken))
            taken.add(id)
            parts.append(read_call(id, part.name, "".join(part.pieces), part.vendor_data))
        return Message("assistant", tuple(parts), "model", self._origin or None)

    def _made_id(self, number: int) -> str:
        # From the call's own key, so that going through the same records again makes the same id.
        seed = f"{self._origin}/{number}".encode("utf-8", "surrogatepass")
        return f"call_{hashlib.sha256(seed).hexdigest()[:20]}"
