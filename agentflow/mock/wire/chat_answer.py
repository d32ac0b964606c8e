"""An answer as an OpenAI chat completion, whole or in chunks.

After https://platform.openai.com/docs/api-reference/chat/object and /docs/api-reference/chat-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentflow.messages.chunk import Chunk, FinishReason
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.chat_request import asked_of
from agentflow.mock.wire.dialect import Answer, Stamp, Wrong
from agentflow.mock.wire.event import DONE, Event
from agentflow.mock.wire.fields import Fields
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
    """The format of `/v1/chat/completions`."""

    def asked(self, body: Fields) -> Asked:
        return asked_of(body)

    def answer(self, asked: Asked, stamp: Stamp) -> Answer:
        return ChatAnswer(asked, stamp)

    def wrong(self, wrong: Wrong) -> Mapping[str, Any]:
        return {"error": openai_error(wrong)}


class ChatAnswer:
    """One chat completion."""

    def __init__(self, asked: Asked, stamp: Stamp) -> None:
        self.gathered = Gathering()
        self._asked = asked
        self._head = {"id": f"chatcmpl-mock-{stamp.number}", "created": stamp.created}

    def begin(self) -> Iterable[Event]:
        yield self._event({"role": "assistant", "content": ""})

    def add(self, chunk: Chunk) -> Iterable[Event]:
        growth = self.gathered.add(chunk)
        if growth is not None:
            yield from self._grown(growth)

    def end(self) -> Iterable[Event]:
        assert self.gathered.finish is not None
        yield self._event({}, _FINISH[self.gathered.finish])
        usage = self._usage()
        if self._asked.stream_usage and usage is not None:
            yield Event({**self._chunk(), "choices": [], "usage": usage})
        yield DONE

    def whole(self) -> Mapping[str, Any]:
        gathered = self.gathered
        calls = [_call(item) for item in gathered.of("call")]
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
        assert gathered.finish is not None
        return {
            **self._head,
            "object": "chat.completion",
            "model": self._asked.model,
            "choices": [{**choice, "finish_reason": _FINISH[gathered.finish]}],
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
                function = {"arguments": growth.piece}
                delta: dict[str, Any] = {"index": item.number, "function": function}
                if growth.is_new:
                    delta |= {"id": item.id, "type": "function"}
                    delta["function"] = {"name": item.name, **function}
                yield self._event({"tool_calls": [delta]})

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return Event({**self._chunk(), "choices": [choice]})

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
    return {
        names[0]: input,
        names[1]: output,
        "total_tokens": figures.get("total_tokens", input + output),
        details[0]: {"cached_tokens": figures.get("cached_tokens", 0)},
        details[1]: {"reasoning_tokens": figures.get("reasoning_tokens", 0)},
    }


def _call(item: Item) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.text}
    return {"id": item.id, "type": "function", "function": function}
