"""An answer of OpenAI's Responses API, read event by event."""

from __future__ import annotations

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
from agentflow.messages.formats.openai_responses import SEALED, VENDOR
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.models.failure import told_failure
from agentflow.providers.figures import count, details

__all__ = ["ResponsesAnswer"]

_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "filter",
}
_TEXTS: Final = {"response.output_text.delta", "response.refusal.delta"}
_THOUGHTS: Final = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}


class ResponsesAnswer:
    """Reads the events of one answer.

    Attributes:
        end: The end of the answer, when it has come.
    """

    __slots__ = ("_begun", "_calls", "_names", "_refused", "end")

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._refused = False
        self._calls = 0
        self._begun: set[int] = set()
        self.end: FinishChunk | None = None

    def take(self, body: Any) -> Iterator[Chunk]:
        """What one event says.

        Raises:
            ModelError: It is an error, or nothing that this API sends.
        """
        if not isinstance(body, Mapping):
            raise ModelError(f"the server sent {body!r}, which is no event")
        kind = body.get("type")
        if kind in _TEXTS:
            self._refused = self._refused or kind == "response.refusal.delta"
            yield from _pieces(TextChunk, body.get("delta"))
        elif kind in _THOUGHTS:
            yield from _pieces(ReasoningChunk, body.get("delta"))
        elif kind == "response.function_call_arguments.delta":
            text = body.get("delta")
            if isinstance(text, str) and text:
                self._begun.add(_index(body))
                yield ToolCallChunk(_index(body), arguments=text)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            item = body.get("item")
            if isinstance(item, Mapping):
                yield from self._item(item, _index(body), done=kind.endswith("done"))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            yield from self._ended(body.get("response"))
        elif kind == "error" or (kind is None and body.get("error")):
            raise told_failure(body)

    def _item(self, item: Mapping[str, Any], index: int, *, done: bool) -> Iterator[Chunk]:
        kind = item.get("type")
        if kind == "function_call":
            name = str(item.get("name") or "")
            if not done:
                self._calls += 1
                yield ToolCallChunk(
                    index, str(item.get("call_id") or "") or None, self._names.own(name)
                )
            elif index not in self._begun and isinstance(item.get("arguments"), str):
                # Some servers send short arguments in one piece, with the end of the call.
                id = str(item.get("call_id") or "") or None
                yield ToolCallChunk(index, id, self._names.own(name), item["arguments"])
        elif kind == "reasoning" and done and item.get("encrypted_content"):
            # What is not sealed lies at the vendor, if it keeps it, and cannot be sent back.
            data = {key: value for key, value in item.items() if key in SEALED}
            yield ReasoningChunk("", vendor_data={"vendor": VENDOR, **data})

    def _ended(self, response: Any) -> Iterator[Chunk]:
        response = response if isinstance(response, Mapping) else {}
        usage = _usage(response.get("usage"))
        if usage is not None:
            yield usage
        if response.get("error"):
            raise told_failure(response)
        if response.get("status") == "failed":
            raise ModelError(
                "the server failed in the middle of the answer, and says nothing of it"
            )
        details = response.get("incomplete_details")
        cause = details.get("reason") if isinstance(details, Mapping) else None
        if self._refused:
            self.end = FinishChunk("filter")
        elif cause:
            self.end = FinishChunk(_INCOMPLETE.get(str(cause), "other"))
        else:
            self.end = FinishChunk("tool_calls" if self._calls else "stop")


def _index(body: Mapping[str, Any]) -> int:
    index = body.get("output_index")
    return index if isinstance(index, int) else 0


def _pieces(kind: type[TextChunk | ReasoningChunk], text: Any) -> Iterator[Chunk]:
    if isinstance(text, str) and text:
        yield kind(text)


def _usage(usage: Any) -> UsageChunk | None:
    if not isinstance(usage, Mapping):
        return None
    given = details(usage, "input_tokens_details")
    told = UsageChunk(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cached_tokens=count(given.get("cached_tokens")),
        cache_write_tokens=count(given.get("cache_write_tokens")),
        reasoning_tokens=count(details(usage, "output_tokens_details").get("reasoning_tokens")),
    )
    return told if told.known() else None
