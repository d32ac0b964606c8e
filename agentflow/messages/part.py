"""Parts: what one message is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agentflow.graph.argument import FLAG, LIST, MAPPING, TEXT, check_fields, or_none
from agentflow.graph.frozen import freeze
from agentflow.messages.file_part import FILES, FilePart

__all__ = ["FilePart", "Part", "ReasoningPart", "TextPart", "ToolCall", "ToolResult", "VendorData"]

VendorData = Mapping[str, Any]
"""What a vendor wants back unread with the next request, such as a signature: `{"vendor": its name, …}`."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text that is said."""

    text: str
    type: Literal["text"] = "text"

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"a message says a text, and not {self.text!r}")


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What a model said to itself; never part of its answer. `vendor_data` goes back to the vendor as it came."""

    text: str
    vendor_data: VendorData | None = None
    type: Literal["reasoning"] = "reasoning"

    def __post_init__(self) -> None:
        check_fields(self, {"text": TEXT, "vendor_data": or_none(MAPPING)})
        if self.vendor_data is not None:
            object.__setattr__(self, "vendor_data", freeze(dict(self.vendor_data)))


_OF_A_CALL: Final = {
    "id": TEXT,
    "name": TEXT,
    "arguments": MAPPING,
    "error": or_none(TEXT),
    "raw": or_none(TEXT),
    "vendor_data": or_none(MAPPING),
}
_OF_A_RESULT: Final = {
    "call_id": TEXT,
    "name": TEXT,
    "content": TEXT,
    "is_error": FLAG,
    "files": FILES,
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's proposal to call a tool. It executes nothing.

    Args:
        id: Names the call; its result carries the same id.
        name: The id of the tool.
        arguments: What the tool is to be given, read-only. Empty when the model's text could not be read.
        error: Why the arguments could not be read; then the call must not be carried out.
        raw: The model's own text, kept when it could not be read.
        vendor_data: What goes back to the vendor as it came.

    Raises:
        TypeError: One of them is of the wrong kind.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    raw: str | None = None
    vendor_data: VendorData | None = None
    type: Literal["tool_call"] = "tool_call"

    def __post_init__(self) -> None:
        # Of the many that a run makes, only one of another kind pays for what could be said of it.
        plain = isinstance(self.id, str) and isinstance(self.name, str)
        if not (
            plain
            and isinstance(self.arguments, dict)
            and self.error is None
            and self.raw is None
            and self.vendor_data is None
        ):
            check_fields(self, _OF_A_CALL)
        object.__setattr__(self, "arguments", freeze(dict(self.arguments)))
        if self.vendor_data is not None:
            object.__setattr__(self, "vendor_data", freeze(dict(self.vendor_data)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call, as the model gets to see it.

    Args:
        call_id: The id of the call.
        name: The id of the tool.
        content: The result as text; of an error, what went wrong and what to do.
        is_error: Whether the call did not succeed.
        files: What the tool gave besides, such as images.

    Raises:
        TypeError: One of them is of the wrong kind.
    """

    call_id: str
    name: str
    content: str
    is_error: bool = False
    files: tuple[FilePart, ...] = ()
    type: Literal["tool_result"] = "tool_result"

    def __post_init__(self) -> None:
        named = isinstance(self.call_id, str) and isinstance(self.name, str)
        plain = named and isinstance(self.content, str) and isinstance(self.is_error, bool)
        if plain and self.files == ():
            return
        if LIST.accepts(self.files):
            object.__setattr__(self, "files", tuple(self.files))
        check_fields(self, _OF_A_RESULT)


Part = TextPart | ReasoningPart | FilePart | ToolCall | ToolResult
