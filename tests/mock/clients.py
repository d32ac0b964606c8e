"""The vendors' own clients, unmodified, made to do the same thing: ask once, and tell what was heard."""

from __future__ import annotations

import functools
import gc
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from agentflow.mock import MockServer

__all__ = ["FORMATS", "Format", "Heard", "weather"]

FORMATS = ("chat", "responses", "messages")


@dataclass(frozen=True)
class Heard:
    """What a client made of an answer."""

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = None
    reasoning: str = ""
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What is asked, whatever the format."""

    prompt: str
    instructions: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    schema: Mapping[str, Any] | None = None
    history: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def weather(name: str = "weather") -> dict[str, Any]:
    """A tool, in no format."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"name": name, "description": "Tell the weather.", "parameters": parameters}


class Format:
    """One of the formats, spoken by its vendor's clients.

    Args:
        name: Which.
        server: Where to ask.
        retries: How often the client asks again.
    """

    def __init__(self, name: str, server: MockServer, retries: int = 0) -> None:
        self.name = name
        self._server = server
        self._retries = retries

    @functools.cached_property
    def client(self) -> Any:
        """The synchronous client; to be closed by `close`."""
        if self.name == "messages":
            return Anthropic(base_url=self._server.url, api_key="any", max_retries=self._retries)
        return OpenAI(base_url=self._server.openai_url, api_key="any", max_retries=self._retries)

    @contextmanager
    def events(self, prompt: str = "Hi.") -> Iterator[Any]:
        """A streamed answer, to be read event by event."""
        create = _create(self.client, self.name)
        with create(stream=True, **_OPTIONS[self.name](Question(prompt))) as answer:
            yield answer

    @asynccontextmanager
    async def async_events(self, prompt: str = "Hi.") -> AsyncIterator[Any]:
        async with self.async_client() as client:
            create = _create(client, self.name)
            async with await create(stream=True, **_OPTIONS[self.name](Question(prompt))) as answer:
                yield answer

    def close(self) -> None:
        if "client" in vars(self):
            self.client.close()

    def async_client(self) -> Any:
        if self.name == "messages":
            return AsyncAnthropic(
                base_url=self._server.url, api_key="any", max_retries=self._retries
            )
        return AsyncOpenAI(
            base_url=self._server.openai_url, api_key="any", max_retries=self._retries
        )

    def ask(self, prompt: str, *, stream: bool = False, **more: Any) -> Heard:
        options = _OPTIONS[self.name](Question(prompt, **more))
        create = _create(self.client, self.name)
        if not stream:
            return _WHOLE[self.name](create(**options))
        events = []
        with create(stream=True, **options, **_streaming(self.name)) as answer:
            events.extend(answer)
        return _STREAMED[self.name](events)

    async def ask_async(self, prompt: str, *, stream: bool = False, **more: Any) -> Heard:
        options = _OPTIONS[self.name](Question(prompt, **more))
        async with self.async_client() as client:
            create = _create(client, self.name)
            if not stream:
                return _WHOLE[self.name](await create(**options))
            events = []
            async with await create(stream=True, **options, **_streaming(self.name)) as answer:
                async for event in answer:
                    events.append(event)  # noqa: PERF401 - what came before an error matters
            if self.name == "chat":
                await _generators_closed()
            return _STREAMED[self.name](events)


async def _generators_closed() -> None:
    """Let the generators end that OpenAI's asynchronous client leaves to the garbage collector when it reads `[DONE]`."""
    gc.collect()
    await anyio.wait_all_tasks_blocked()


def _create(client: Any, name: str) -> Any:
    match name:
        case "chat":
            return client.chat.completions.create
        case "responses":
            return client.responses.create
        case _:
            return client.messages.create


def _streaming(name: str) -> dict[str, Any]:
    return {"stream_options": {"include_usage": True}} if name == "chat" else {}


def _chat_options(asked: Question) -> dict[str, Any]:
    options: dict[str, Any] = {"model": "m", **asked.more}
    first = [{"role": "system", "content": asked.instructions}] if asked.instructions else []
    options["messages"] = [*first, *asked.history, {"role": "user", "content": asked.prompt}]
    if asked.tools:
        options["tools"] = [{"type": "function", "function": tool} for tool in asked.tools]
    if asked.schema:
        schema = {"name": "answer", "schema": asked.schema, "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    return options


def _responses_options(asked: Question) -> dict[str, Any]:
    options: dict[str, Any] = {"model": "m", **asked.more}
    if asked.instructions:
        options["instructions"] = asked.instructions
    options["input"] = [*asked.history, {"role": "user", "content": asked.prompt}]
    if asked.tools:
        options["tools"] = [{"type": "function", "strict": True, **tool} for tool in asked.tools]
    if asked.schema:
        form = {"type": "json_schema", "name": "answer", "schema": asked.schema, "strict": True}
        options["text"] = {"format": form}
    return options


def _messages_options(asked: Question) -> dict[str, Any]:
    options: dict[str, Any] = {"model": "m", "max_tokens": 100, **asked.more}
    if asked.instructions:
        options["system"] = asked.instructions
    options["messages"] = [*asked.history, {"role": "user", "content": asked.prompt}]
    if asked.tools:
        options["tools"] = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["parameters"],
            }
            for tool in asked.tools
        ]
    if asked.schema:
        options["output_config"] = {"format": {"type": "json_schema", "schema": asked.schema}}
    return options


def _chat_whole(answer: Any) -> Heard:
    (choice,) = answer.choices
    message = choice.message
    return Heard(
        text=message.content or "",
        calls=tuple(
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ),
        finish=choice.finish_reason,
        usage=answer.usage and (answer.usage.prompt_tokens, answer.usage.completion_tokens),
        reasoning=getattr(message, "reasoning_content", ""),
    )


def _chat_streamed(events: list[Any]) -> Heard:
    pieces: list[str] = []
    calls: dict[int, list[str]] = {}
    finish, usage, reasoning = None, None, ""
    for event in events:
        if event.usage:
            usage = (event.usage.prompt_tokens, event.usage.completion_tokens)
        for choice in event.choices:
            finish = choice.finish_reason or finish
            if choice.delta.content:
                pieces.append(choice.delta.content)
            reasoning += getattr(choice.delta, "reasoning_content", "")
            for call in choice.delta.tool_calls or ():
                if call.id:
                    calls[call.index] = [call.id, call.function.name, ""]
                calls[call.index][2] += call.function.arguments
    heard = tuple((id, name, json.loads(arguments)) for id, name, arguments in calls.values())
    return Heard("".join(pieces), heard, finish, usage, reasoning, tuple(pieces))


def _responses_whole(answer: Any) -> Heard:
    calls = [item for item in answer.output if item.type == "function_call"]
    thoughts = [item for item in answer.output if item.type == "reasoning"]
    return Heard(
        text=answer.output_text,
        calls=tuple((call.call_id, call.name, json.loads(call.arguments)) for call in calls),
        finish=answer.status,
        usage=answer.usage and (answer.usage.input_tokens, answer.usage.output_tokens),
        reasoning="".join(part.text for item in thoughts for part in item.summary),
    )


def _responses_streamed(events: list[Any]) -> Heard:
    whole = _responses_whole(events[-1].response)
    pieces = tuple(event.delta for event in events if event.type == "response.output_text.delta")
    assert "".join(pieces) == whole.text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    return Heard(whole.text, whole.calls, whole.finish, whole.usage, whole.reasoning, pieces)


def _messages_whole(answer: Any) -> Heard:
    blocks = answer.content
    usage = (answer.usage.input_tokens, answer.usage.output_tokens)
    return Heard(
        text="".join(block.text for block in blocks if block.type == "text"),
        calls=tuple(
            (block.id, block.name, block.input) for block in blocks if block.type == "tool_use"
        ),
        finish=answer.stop_reason,
        usage=None if usage == (None, None) else usage,
        reasoning="".join(block.thinking for block in blocks if block.type == "thinking"),
    )


def _messages_streamed(events: list[Any]) -> Heard:
    # The client's own accumulation is what applications use.
    from anthropic.lib.streaming._messages import accumulate_event

    answer: Any = None
    buffers: dict[int, bytes] = {}
    pieces = []
    for event in events:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            pieces.append(event.delta.text)
        answer = accumulate_event(event=event, current_snapshot=answer, json_bufs=buffers)
    heard = _messages_whole(answer)
    return Heard(heard.text, heard.calls, heard.finish, heard.usage, heard.reasoning, tuple(pieces))


_OPTIONS = {
    "chat": _chat_options,
    "responses": _responses_options,
    "messages": _messages_options,
}
_WHOLE = {"chat": _chat_whole, "responses": _responses_whole, "messages": _messages_whole}
_STREAMED = {
    "chat": _chat_streamed,
    "responses": _responses_streamed,
    "messages": _messages_streamed,
}
