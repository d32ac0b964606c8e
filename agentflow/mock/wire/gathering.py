"""Gathering: the items of an answer while it comes, with their texts as they were written, be they broken or not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    FinishReason,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.messages.part import VendorData
from agentflow.mock.reply import MockCall, MockReply

__all__ = ["Gathering", "Growth", "Item"]


@dataclass(slots=True)
class Item:
    """One thing that an answer holds.

    Args:
        kind: What it is.
        index: Where it stands among all items.
        number: Where it stands among those of its kind.
        id: Of a tool call.
        name: Of a tool call.
        text: The text so far; of a tool call, that of its arguments.
        vendor_data: What the vendor wants back with it.
    """

    kind: Literal["text", "reasoning", "call"]
    index: int
    number: int
    id: str = ""
    name: str = ""
    text: str = ""
    vendor_data: VendorData | None = None

    @property
    def arguments(self) -> Any:
        """The arguments of a call as a value; as the text they are when that is no JSON."""
        try:
            return json.loads(self.text, parse_constant=_no_number) if self.text.strip() else {}
        except (ValueError, RecursionError):
            return self.text


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True, slots=True)
class Growth:
    """What a chunk did: an item, the piece that it has got, and whether it is a new one."""

    item: Item
    piece: str
    is_new: bool


@dataclass(slots=True)
class Gathering:
    """All that came so far.

    Args:
        items: What the answer holds.
        usage: The figures that the model has told.
        estimated: Figures in their place, as long as the model has told none.
        finish: Why the model stopped; `None` until it has.
    """

    items: list[Item] = field(default_factory=list)
    usage: dict[str, float] = field(default_factory=dict)
    estimated: dict[str, float] = field(default_factory=dict)
    finish: FinishReason | None = None
    _calls: dict[int, Item] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> Growth | None:
        """Take a chunk; `None` when no item has grown by it."""
        match chunk:
            case TextChunk(text=text):
                return self._grown("text", text)
            case ReasoningChunk(text=text):
                growth = self._grown("reasoning", text)
                growth.item.vendor_data = chunk.vendor_data
                return growth
            case ToolCallChunk():
                return self._called(chunk)
            case UsageChunk():
                self.usage.update(chunk.known())
            case FinishChunk(reason=reason):
                self.finish = reason
        return None

    @property
    def figures(self) -> dict[str, float]:
        """The figures to be told."""
        return self.usage or self.estimated

    def of(self, kind: str) -> list[Item]:
        """The items of one kind."""
        return [item for item in self.items if item.kind == kind]

    def text(self, kind: str = "text") -> str:
        """The texts of one kind, joined."""
        return "".join(item.text for item in self.of(kind))

    def reply(self) -> MockReply:
        """What came, as the reply of a rule."""
        return MockReply(
            text=self.text(),
            reasoning=self.text("reasoning"),
            calls=tuple(MockCall(item.name, item.text, item.id) for item in self.of("call")),
        )

    def _grown(self, kind: Literal["text", "reasoning"], piece: str) -> Growth:
        last = self.items[-1] if self.items else None
        # What a vendor wants back ends the item that it belongs to.
        is_new = last is None or last.kind != kind or last.vendor_data is not None
        item = self._new(kind) if last is None or is_new else last
        item.text += piece
        return Growth(item, piece, is_new)

    def _called(self, chunk: ToolCallChunk) -> Growth:
        item = self._calls.get(chunk.index)
        # As the collector takes it: another id under the same number is another call.
        is_new = item is None or bool(chunk.id and chunk.id != item.id)
        if item is None or is_new:
            item = self._calls[chunk.index] = self._new("call")
            item.id = chunk.id or f"call_{item.number + 1}"
            item.name = chunk.name or ""
        item.text += chunk.arguments
        item.vendor_data = item.vendor_data or chunk.vendor_data
        return Growth(item, chunk.arguments, is_new)

    def _new(self, kind: Literal["text", "reasoning", "call"]) -> Item:
        item = Item(kind, len(self.items), len(self.of(kind)))
        self.items.append(item)
        return item
