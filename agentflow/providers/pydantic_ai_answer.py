"""An answer through pydantic-ai, read event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai import messages as theirs

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
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.models.failure import cut_off
from agentflow.providers.pydantic_ai_input import VENDOR

if TYPE_CHECKING:
    from pydantic_ai.models import StreamedResponse
    from pydantic_ai.usage import RequestUsage

__all__ = ["BridgedAnswer"]

_REASONS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "filter",
    "tool_call": "tool_calls",
}


class BridgedAnswer:
    """Reads the events of one answer."""

    __slots__ = ("_calls", "_names", "_streamed")

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._calls = 0
        self._streamed: set[int] = set()

    def take(self, event: theirs.ModelResponseStreamEvent) -> Iterator[Chunk]:
        """What one event says."""
        match event:
            case theirs.PartStartEvent(index=index, part=part):
                yield from self._begun(index, part)
            case theirs.PartDeltaEvent(index=index, delta=theirs.ToolCallPartDelta() as delta):
                yield from self._arguments(index, delta.args_delta)
            case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)):
                yield from _pieces(TextChunk, text)
            case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=text)):
                yield from _pieces(ReasoningChunk, text)
            case theirs.PartEndEvent(index=index, part=part):
                yield from self._ended(index, part)

    def _begun(self, index: int, part: Any) -> Iterator[Chunk]:
        match part:
            case theirs.TextPart(content=text):
                yield from _pieces(TextChunk, text)
            case theirs.ThinkingPart(content=text):
                yield from _pieces(ReasoningChunk, text)
            case theirs.ToolCallPart():
                self._calls += 1
                yield ToolCallChunk(index, part.tool_call_id, self._names.own(part.tool_name))
                yield from self._arguments(index, part.args)

    def _arguments(self, index: int, arguments: Any) -> Iterator[Chunk]:
        # Arguments that come as data are read when all of them are there.
        if isinstance(arguments, str) and arguments:
            self._streamed.add(index)
            yield ToolCallChunk(index, arguments=arguments)

    def _ended(self, index: int, part: Any) -> Iterator[Chunk]:
        match part:
            case theirs.ThinkingPart():
                data = _kept(part, "id", "signature", "provider_name", "provider_details")
                if data is not None:
                    yield ReasoningChunk("", vendor_data=data)
            case theirs.ToolCallPart():
                text = "" if index in self._streamed else part.args_as_json_str()
                data = _kept(part, "id", "provider_name", "provider_details")
                if text or data is not None:
                    yield ToolCallChunk(index, arguments=text, vendor_data=data)

    def finish(self, response: StreamedResponse) -> Iterator[Chunk]:
        """The figures and the end of the answer.

        Raises:
            ModelError: The answer was cut off, or the vendor says that it failed.
        """
        usage = _usage(response.usage)
        if usage is not None:
            yield usage
        reason = response.finish_reason
        if reason == "error":
            raise ModelError(
                "the server failed in the middle of the answer, and says nothing of it"
            )
        if response.state != "complete" or not _has_ended(response):
            raise cut_off()
        found = _REASONS.get(reason or "", "other")
        wants_tools = self._calls and found in ("stop", "other")
        yield FinishChunk("tool_calls" if wants_tools else found)


def _has_ended(response: StreamedResponse) -> bool:
    """Whether the vendor has said that the answer has ended."""
    if (response.provider_details or {}).get("finish_reason"):
        return True
    # The models that speak like OpenAI make a reason up where none came, so that what was cut looks whole.
    makes_up = any(cls.__name__ == "OpenAIStreamedResponse" for cls in type(response).__mro__)
    if response.finish_reason is not None:
        return not makes_up
    # Models for tests answer in process, and give no reason.
    return type(response).__module__ in ("pydantic_ai.models.test", "pydantic_ai.models.function")


def _pieces(kind: type[TextChunk | ReasoningChunk], text: str | None) -> Iterator[Chunk]:
    if text:
        yield kind(text)


def _kept(part: Any, *names: str) -> dict[str, Any] | None:
    """What the vendor wants back with a part; `None` if that is nothing."""
    found = {name: getattr(part, name) for name in names if getattr(part, name) is not None}
    return {"vendor": VENDOR, **found} if found.keys() - {"provider_name"} else None


def _usage(usage: RequestUsage) -> UsageChunk | None:
    # Figures that were not reported are zero there, and a call without any tokens is none.
    if not usage.input_tokens and not usage.output_tokens:
        return None
    return UsageChunk(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        reasoning_tokens=getattr(usage, "reasoning_tokens", None) or None,
    )
