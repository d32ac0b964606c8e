"""An answer as an Anthropic message, whole or in events.

After https://docs.anthropic.com/en/api/messages-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentflow.messages.chunk import Chunk, FinishReason
from agentflow.messages.formats.fields import Fields
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.dialect import Answer, Stamp, Wrong
from agentflow.mock.wire.event import Event
from agentflow.mock.wire.gathering import Gathering, Growth, Item
from agentflow.mock.wire.messages_request import asked_of

__all__ = ["MessagesDialect"]

_FINISH: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "filter": "refusal",
    "other": "end_turn",
}

# After https://docs.anthropic.com/en/api/errors
_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class MessagesDialect:
    """The format of `/v1/messages`."""

    def asked(self, body: Fields) -> Asked:
        return asked_of(body)

    def answer(self, asked: Asked, stamp: Stamp) -> Answer:
        return MessagesAnswer(asked, stamp)

    def wrong(self, wrong: Wrong) -> Mapping[str, Any]:
        other = "api_error" if wrong.status >= 500 else "invalid_request_error"
        kind = wrong.kind or _KINDS.get(wrong.status, other)
        return {"type": "error", "error": {"type": kind, "message": wrong.message}}


class MessagesAnswer:
    """One message."""

    def __init__(self, asked: Asked, stamp: Stamp) -> None:
        self.gathered = Gathering()
        self._asked = asked
        self._stamp = stamp

    def begin(self) -> Iterable[Event]:
        message = self._message([], None)
        if message["usage"]["input_tokens"] is not None:
            message["usage"]["output_tokens"] = 0
        yield self._event("message_start", message=message)
        yield self._event("ping")

    def add(self, chunk: Chunk) -> Iterable[Event]:
        growth = self.gathered.add(chunk)
        if growth is not None:
            yield from self._grown(growth)

    def end(self) -> Iterable[Event]:
        yield from self._closed(len(self.gathered.items) - 1)
        delta = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        yield self._event("message_delta", delta=delta, usage=self._usage())
        yield self._event("message_stop")

    def whole(self) -> Mapping[str, Any]:
        blocks = [_block(item) for item in self.gathered.items]
        return self._message(blocks, self._stop_reason())

    def failed(self, wrong: Wrong) -> Iterable[Event]:
        yield Event(MessagesDialect().wrong(wrong), "error")

    def broken(self) -> Event:
        type = "content_block_delta"
        return Event(f'{{"type":"{type}","index":0,"delta":{{"type":"text_delta","te', type)

    def _grown(self, growth: Growth) -> Iterator[Event]:
        item = growth.item
        if growth.is_new:
            yield from self._closed(item.index - 1)
            empty = _block(replace(item, text=""))
            yield self._event("content_block_start", index=item.index, content_block=empty)
        if growth.piece:
            delta = _delta(item, growth.piece)
            yield self._event("content_block_delta", index=item.index, delta=delta)

    def _closed(self, index: int) -> Iterator[Event]:
        if index < 0:
            return
        item = self.gathered.items[index]
        if item.kind == "reasoning" and "data" not in _own(item):
            delta = {
                "type": "signature_delta",
                "signature": _own(item).get("signature", _SIGNATURE),
            }
            yield self._event("content_block_delta", index=index, delta=delta)
        yield self._event("content_block_stop", index=index)

    def _event(self, type: str, **fields: Any) -> Event:
        return Event({"type": type, **fields}, type)

    def _stop_reason(self) -> str:
        assert self.gathered.finish is not None
        return _FINISH[self.gathered.finish]

    def _message(self, content: list[dict[str, Any]], stop_reason: str | None) -> dict[str, Any]:
        return {
            "id": f"msg_mock_{self._stamp.number}",
            "type": "message",
            "role": "assistant",
            "model": self._asked.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": self._usage(),
        }

    def _usage(self) -> dict[str, Any]:
        """The figures; null for those that are not known, because the object itself is always there."""
        figures = self.gathered.figures
        told: dict[str, Any] = {
            "input_tokens": figures.get("input_tokens"),
            "output_tokens": figures.get("output_tokens"),
        }
        for name, figure in _CACHES.items():
            if figure in figures:
                # Here input tokens are those that have nothing to do with a cache.
                told[name] = figures[figure]
                if told["input_tokens"] is not None:
                    told["input_tokens"] -= figures[figure]
        if "reasoning_tokens" in figures:
            told["output_tokens_details"] = {"thinking_tokens": figures["reasoning_tokens"]}
        return told


_CACHES = {
    "cache_read_input_tokens": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}

_SIGNATURE = "mock-signature"
"""What vouches for a thinking block, and is to be sent back with it."""


def _own(item: Item) -> Mapping[str, Any]:
    """What this vendor's model wants back; a real one may stand behind the server."""
    data = item.vendor_data or {}
    return data if data.get("vendor") == "anthropic" else {}


def _block(item: Item) -> dict[str, Any]:
    match item.kind:
        case "text":
            return {"type": "text", "text": item.text}
        case "reasoning" if "data" in _own(item):
            return {"type": "redacted_thinking", "data": _own(item)["data"]}
        case "reasoning":
            signature = _own(item).get("signature", _SIGNATURE) if item.text else ""
            return {"type": "thinking", "thinking": item.text, "signature": signature}
        case "call":
            return {"type": "tool_use", "id": item.id, "name": item.name, "input": item.arguments}


def _delta(item: Item, piece: str) -> dict[str, Any]:
    match item.kind:
        case "text":
            return {"type": "text_delta", "text": piece}
        case "reasoning":
            return {"type": "thinking_delta", "thinking": piece}
        case "call":
            return {"type": "input_json_delta", "partial_json": piece}
