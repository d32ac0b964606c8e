"""An answer of chat completions, read piece by piece, with what servers make of the format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

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
from agentflow.models.failure import told_failure
from agentflow.providers.figures import count, details

__all__ = ["ChatAnswer", "chat_usage"]

_REASONS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filter",
}


class ChatAnswer:
    """Reads the pieces of one answer.

    Args:
        names: The names of the tools.
        end: What ends an answer, as `ChatDialect` tells.

    Attributes:
        done: Whether the frame that ends a stream has come.
    """

    __slots__ = ("_calls", "_end", "_last", "_names", "_reason", "_refused", "done")

    def __init__(self, names: ToolNames, *, end: Literal["done", "finish_reason"] = "done") -> None:
        self._names = names
        self._end = end
        self._reason: str | None = None
        self._refused = False
        self._calls: dict[str, int] = {}
        self._last = -1
        self.done = False

    @property
    def whole(self) -> bool:
        """Whether the answer has come to its end."""
        return self.done or (self._end == "finish_reason" and self._reason is not None)

    def take(self, body: Any) -> Iterator[Chunk]:
        """What one piece says; `None` is the frame that ends them.

        Raises:
            ModelError: It is an error, or nothing that chat completions send.
        """
        if body is None:
            self.done = True
            return
        if not isinstance(body, Mapping):
            raise ModelError(f"the server sent {body!r}, which is no piece of an answer")
        if body.get("error"):
            raise told_failure(body)
        # With several choices only the first is the answer; some servers send pieces without any.
        for choice in body.get("choices") or ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                yield from self._choice(choice)
        usage = chat_usage(body.get("usage"))
        if usage is not None:
            yield usage

    def finish(self) -> FinishChunk:
        """The end of the answer, and why the model stopped."""
        if self._refused:
            return FinishChunk("filter")
        reason = _REASONS.get(self._reason or "", "other")
        # Some servers say `stop`, or nothing at all, of an answer that wants tools.
        if self._last >= 0 and reason in ("stop", "other"):
            reason = "tool_calls"
        return FinishChunk(reason)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Chunk]:
        # A server that does not stream says `message` where others say `delta`.
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            yield from _reasoning(delta.get("reasoning_content") or delta.get("reasoning"))
            yield from _content(delta.get("content"))
            if isinstance(delta.get("refusal"), str) and delta["refusal"]:
                self._refused = True
                yield TextChunk(delta["refusal"])
            for call in delta.get("tool_calls") or ():
                if isinstance(call, Mapping):
                    yield self._call(call)
        if choice.get("finish_reason"):
            self._reason = str(choice["finish_reason"])

    def _call(self, call: Mapping[str, Any]) -> ToolCallChunk:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        id, name = _text(call.get("id")), _text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            # Some servers send the arguments as they are, and not as a text of JSON.
            arguments = json.dumps(arguments, ensure_ascii=False)
        index = self._index(call.get("index"), id, name)
        return ToolCallChunk(
            index, id, None if name is None else self._names.own(name), _text(arguments) or ""
        )

    def _index(self, index: Any, id: str | None, name: str | None) -> int:
        """Which call a piece belongs to; where the server does not number them, by its id, or to the last one."""
        if isinstance(index, int) and not isinstance(index, bool):
            found = index
        elif id is not None and id in self._calls:
            found = self._calls[id]
        elif id is not None or (name is not None and self._last < 0):
            found = self._last + 1
        else:
            found = max(self._last, 0)
        if id is not None:
            self._calls[id] = found
        self._last = max(self._last, found)
        return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _reasoning(value: Any) -> Iterator[Chunk]:
    if isinstance(value, str) and value:
        yield ReasoningChunk(value)


def _content(value: Any) -> Iterator[Chunk]:
    if isinstance(value, str):
        if value:
            yield TextChunk(value)
        return
    # Some servers send a list of parts.
    for part in value if isinstance(value, list) else ():
        if not isinstance(part, Mapping):
            continue
        match part.get("type"):
            case "text":
                yield from _content(part.get("text"))
            case "thinking":
                thinking = part.get("thinking")
                inner = thinking if isinstance(thinking, list) else [thinking]
                for piece in inner:
                    yield from _reasoning(
                        piece.get("text") if isinstance(piece, Mapping) else piece
                    )


def chat_usage(usage: Any) -> UsageChunk | None:
    """The figures that a piece reports; `None` if it reports none."""
    if not isinstance(usage, Mapping):
        return None
    given = details(usage, "prompt_tokens_details")
    made = details(usage, "completion_tokens_details")
    told = UsageChunk(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        total_tokens=count(usage.get("total_tokens")),
        cached_tokens=count(given.get("cached_tokens")),
        cache_write_tokens=count(given.get("cache_write_tokens")),
        reasoning_tokens=count(made.get("reasoning_tokens")),
        cost=_cost(usage.get("cost")),
    )
    return told if told.known() else None


def _cost(value: Any) -> float | None:
    # Routers between vendors report what they charge, in US dollars.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value >= 0 else None
