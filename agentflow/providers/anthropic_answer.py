"""An answer of Anthropic's Messages API, read event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

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
from agentflow.messages.formats.anthropic import VENDOR
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.models.failure import told_failure
from agentflow.providers.figures import count, details

__all__ = ["AnthropicAnswer"]

_REASONS: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "filter",
}


class AnthropicAnswer:
    """Reads the events of one answer.

    Attributes:
        end: The end of the answer, when it has come.
    """

    __slots__ = ("_figures", "_inputs", "_names", "_reason", "end")

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._reason: str | None = None
        self._figures: dict[str, Any] = {}
        self._inputs: dict[int, str] = {}
        self.end: FinishChunk | None = None

    def take(self, body: Any) -> Iterator[Chunk]:
        """What one event says.

        Raises:
            ModelError: It is an error, or nothing that this API sends.
        """
        if not isinstance(body, Mapping):
            raise ModelError(f"the server sent {body!r}, which is no event")
        match body.get("type"):
            case "message_start":
                message = details(body, "message")
                yield from self._usage(details(message, "usage"))
            case "content_block_start":
                yield from self._begun(details(body, "content_block"), _index(body))
            case "content_block_delta":
                yield from self._delta(details(body, "delta"), _index(body))
            case "content_block_stop":
                # Some servers send the whole input with the beginning of the call.
                text = self._inputs.pop(_index(body), "")
                if text:
                    yield ToolCallChunk(_index(body), arguments=text)
            case "message_delta":
                reason = details(body, "delta").get("stop_reason")
                self._reason = str(reason) if reason else self._reason
                yield from self._usage(details(body, "usage"))
            case "message_stop":
                self.end = FinishChunk(_REASONS.get(self._reason or "", "other"))
            case "error":
                raise told_failure(body)
            case _:
                # `ping`, and what later versions add.
                if body.get("error"):
                    raise told_failure(body)

    def _begun(self, block: Mapping[str, Any], index: int) -> Iterator[Chunk]:
        match block.get("type"):
            case "text":
                yield from _pieces(TextChunk, block.get("text"))
            case "thinking":
                yield from _pieces(ReasoningChunk, block.get("thinking"))
            case "redacted_thinking":
                data = {"vendor": VENDOR, "data": block.get("data", "")}
                yield ReasoningChunk("", vendor_data=data)
            case "tool_use":
                name = str(block.get("name") or "")
                given = block.get("input")
                if given:
                    self._inputs[index] = json.dumps(given, ensure_ascii=False)
                yield ToolCallChunk(
                    index, str(block.get("id") or "") or None, self._names.own(name)
                )

    def _delta(self, delta: Mapping[str, Any], index: int) -> Iterator[Chunk]:
        match delta.get("type"):
            case "text_delta":
                yield from _pieces(TextChunk, delta.get("text"))
            case "thinking_delta":
                yield from _pieces(ReasoningChunk, delta.get("thinking"))
            case "signature_delta":
                data = {"vendor": VENDOR, "signature": delta.get("signature", "")}
                yield ReasoningChunk("", vendor_data=data)
            case "input_json_delta":
                text = delta.get("partial_json")
                if isinstance(text, str) and text:
                    self._inputs.pop(index, None)
                    yield ToolCallChunk(index, arguments=text)

    def _usage(self, usage: Mapping[str, Any]) -> Iterator[Chunk]:
        """The figures up to now: each event tells some of them, and all of them are sums from the beginning."""
        self._figures |= {name: value for name, value in usage.items() if value is not None}
        told = self._figures
        cached = count(told.get("cache_read_input_tokens"))
        written = count(told.get("cache_creation_input_tokens"))
        fresh = count(told.get("input_tokens"))
        known = UsageChunk(
            input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
            output_tokens=count(told.get("output_tokens")),
            cached_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=count(details(told, "output_tokens_details").get("thinking_tokens")),
        )
        if known.known():
            yield known


def _index(body: Mapping[str, Any]) -> int:
    index = body.get("index")
    return index if isinstance(index, int) else 0


def _pieces(kind: type[TextChunk | ReasoningChunk], text: Any) -> Iterator[Chunk]:
    if isinstance(text, str) and text:
        yield kind(text)
