"""Chunks: the pieces in which a provider hands out an answer. Unverified proposals, nothing more.

A well-formed answer is any number of content and usage chunks, then exactly one `FinishChunk`. An answer without one was
cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentflow.messages.part import VendorData

__all__ = [
    "Chunk",
    "FinishChunk",
    "FinishReason",
    "ReasoningChunk",
    "TextChunk",
    "ToolCallChunk",
    "UsageChunk",
]

FinishReason = Literal["stop", "tool_calls", "length", "filter", "other"]
"""Why a model stopped: it was done, it wants tools, its output limit, a content filter, or it did not say."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of the answer's text.

    Args:
        text: The text.
        origin: The id of the model call, set on the way to a sink.
        stage: What that call is for, if it says so; set likewise.
    """

    text: str
    origin: str = ""
    stage: str | None = None
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """A piece of what the model says to itself.

    Args:
        text: May be empty where a vendor only hands out what it wants back.
        origin: The id of the model call, set on the way to a sink.
        stage: What that call is for, if it says so; set likewise.
        vendor_data: What the vendor wants back with this reasoning; it ends the part that the pieces make.
    """

    text: str
    origin: str = ""
    stage: str | None = None
    vendor_data: VendorData | None = None
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A piece of a proposed tool call.

    Args:
        index: Which call of the answer it belongs to; gaps are allowed.
        id: The call's id, in at least one of its pieces; made up by the collector when none comes.
        name: The tool's id, in at least one of its pieces.
        arguments: A fragment of the arguments' JSON text.
        origin: The id of the model call, set on the way to a sink.
        stage: What that call is for, if it says so; set likewise.
        vendor_data: What the vendor wants back with this call.
    """

    index: int = 0
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    origin: str = ""
    stage: str | None = None
    vendor_data: VendorData | None = None
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChunk:
    """What the call has used so far. Figures replace earlier ones; `None` is not known, which is not zero.

    Args:
        input_tokens: Tokens of the request, cached ones included.
        output_tokens: Tokens of the answer, reasoning included.
        total_tokens: Both; the sum of the two when it is not given.
        cached_tokens: Tokens of the request that came from a cache.
        cache_write_tokens: Tokens of the request that were put into one.
        reasoning_tokens: Tokens of the answer that were reasoning.
        cost: US dollars.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    type: Literal["usage"] = "usage"

    def known(self) -> dict[str, float]:
        """The figures that are known, by name."""
        figures = ((name, getattr(self, name)) for name in USAGE_FIGURES)
        return {name: value for name, value in figures if value is not None}


USAGE_FIGURES = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost",
)
"""The names of everything that a `UsageChunk` can tell."""


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The end of the answer, and why the model stopped. A `UsageChunk` may still follow it."""

    reason: FinishReason = "stop"
    type: Literal["finish"] = "finish"


Chunk = TextChunk | ReasoningChunk | ToolCallChunk | UsageChunk | FinishChunk
