"""An answer as an OpenAI chat completion, whole or in chunks.

After https://platform.openai.com/docs/api-reference/chat/object and /docs/api-reference/chat-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentflow.messages.chunk import Chunk, FinishReason
from agentflow.messages.formats.fields import Fields
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.chat_request import asked_of
from agentflow.mock.wire.dialect import Answer, Stamp, Wrong
from agentflow.mock.wire.event import DONE, Event
from agentflow.mock.wire.gathering import Gathering, Growth, Item
from agentflow.mock.wire.openai_error import openai_error

__all__ = ["ChatDialect", "openai_usage"]

_FINISH: Mapping[FinishReason, str] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "filter": "content_filter",
    "other": "stop",
}


class ChatDialect:
    """The format of `/v1/chat/completions`, as servers with some quirks speak it."""

    def __init__(self, quirks: frozenset[str] = frozenset()) -> None:
        self._quirks = quirks

    def asked(self, body: Fields) -> Asked:
        return asked_of(body)

    def answer(self, asked: Asked, stamp: Stamp) -> Answer:
        return ChatAnswer(asked, stamp, self._quirks)

    def wrong(self, wrong: Wrong) -> Mapping[str, Any]:
        return {"error": openai_error(wrong)}


class ChatAnswer:
    """One chat completion."""

    def __init__(self, asked: Asked, stamp: Stamp, quirks: frozenset[str]) -> None:
        self.gathered = Gathering()
        self._quirks = quirks
        self._asked = asked
        self._head = {"id": f"chatcmpl-mock-{stamp.number}", "created": stamp.created}

    def begin(self) -> Iterable[Event]:
        yield from self._without_choices()
        yield self._event({"role": "assistant", "content": ""})

    def add(self, chunk: Chunk) -> Iterable[Event]:
        growth = self.gathered.add(chunk)
        if growth is not None:
            yield from self._grown(growth)

    def end(self) -> Iterable[Event]:
        last, usage = self._choice({}, self._finish()), self._usage()
        if "usage-with-finish" in self._quirks:
            yield Event({**last, "usage": usage})
        else:
            yield Event(last)
            if self._asked.stream_usage and usage is not None:
                yield Event({**self._chunk(), "choices": [], "usage": usage})
        yield from self._without_choices()
        if "no-done" not in self._quirks:
            yield DONE

    def whole(self) -> Mapping[str, Any]:
        gathered = self.gathered
        calls = [self._call(item) for item in gathered.of("call")]
        said = gathered.text()
        message: dict[str, Any] = {
            "role": "assistant",
            "content": said if said or not calls else None,
            "refusal": None,
        }
        if reasoning := gathered.text("reasoning"):
            # No field of OpenAI's own: it is what DeepSeek, vLLM and others call it.
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None}
        return {
            **self._head,
            "object": "chat.completion",
            "model": self._asked.model,
            "choices": [{**choice, "finish_reason": self._finish()}],
            "usage": self._usage(),
        }

    def failed(self, wrong: Wrong) -> Iterable[Event]:
        yield Event({"error": openai_error(wrong)})

    def broken(self) -> Event:
        return Event('{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"cont')

    def _grown(self, growth: Growth) -> Iterator[Event]:
        item = growth.item
        match item.kind:
            case "text":
                yield self._event({"content": growth.piece})
            case "reasoning":
                yield self._event({"reasoning_content": growth.piece})
            case "call":
                yield self._event({"tool_calls": [self._piece_of_call(growth)]})

    def _piece_of_call(self, growth: Growth) -> dict[str, Any]:
        item, quirks = growth.item, self._quirks
        index = 0 if "one-index" in quirks else item.number * (2 if "index-gaps" in quirks else 1)
        piece = self._call(item) if growth.is_new else {"function": {}}
        piece["function"]["arguments"] = growth.piece
        if "names-repeated" in quirks:
            piece["function"]["name"] = item.name
        return {"index": index, **piece}

    def _call(self, item: Item) -> dict[str, Any]:
        id: dict[str, Any] = {} if "no-call-ids" in self._quirks else {"id": item.id}
        function = {"name": item.name, "arguments": item.text}
        return {**id, "type": "function", "function": function}

    def _finish(self) -> str | None:
        assert self.gathered.finish is not None
        return None if "no-finish-reason" in self._quirks else _FINISH[self.gathered.finish]

    def _without_choices(self) -> Iterator[Event]:
        if "empty-choices" in self._quirks:
            yield Event({**self._chunk(), "choices": []})

    def _event(self, delta: Mapping[str, Any]) -> Event:
        return Event(self._choice(delta))

    def _choice(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._chunk(), "choices": [choice]}

    def _chunk(self) -> dict[str, Any]:
        return {**self._head, "object": "chat.completion.chunk", "model": self._asked.model}

    def _usage(self) -> dict[str, Any] | None:
        return openai_usage(
            self.gathered.figures,
            ("prompt_tokens", "completion_tokens"),
            ("prompt_tokens_details", "completion_tokens_details"),
        )


def openai_usage(
    figures: Mapping[str, float], names: tuple[str, str], details: tuple[str, str]
) -> dict[str, Any] | None:
    """Usage figures under the names of one of OpenAI's formats, which are the same but for these; `None` for none.

    Args:
        figures: The figures, as `UsageChunk` names them.
        names: The names of input and output.
        details: The names of what is told of each in detail.
    """
    if not figures:
        return None
    input, output = figures.get("input_tokens", 0), figures.get("output_tokens", 0)
    cached = {"cached_tokens": figures.get("cached_tokens", 0)}
    if "cache_write_tokens" in figures:
        cached["cache_write_tokens"] = figures["cache_write_tokens"]
    return {
        names[0]: input,
        names[1]: output,
        "total_tokens": figures.get("total_tokens", input + output),
        details[0]: cached,
        details[1]: {"reasoning_tokens": figures.get("reasoning_tokens", 0)},
    }
