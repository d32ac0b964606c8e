"""OpenAI's chat completions, and every server that speaks like them: vLLM, Ollama, llama.cpp, and many vendors."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentflow.errors import ModelError
from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.openai_chat import to_openai_chat
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message
from agentflow.models.answer_form import StructuredWay
from agentflow.models.failure import cut_off, failure_of
from agentflow.models.ports import ModelContext
from agentflow.providers.chat_answer import ChatAnswer
from agentflow.providers.chat_tools import chat_choice, chat_tools
from agentflow.providers.event_stream import events_of, read_to_end
from agentflow.providers.openai_sdk import clients_of, is_vendor
from agentflow.providers.strict_schema import strict_schema

if TYPE_CHECKING:
    import openai

__all__ = ["ChatDialect", "OpenAIChat", "answer_schema", "from_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDialect:
    """What servers of chat completions differ in.

    Args:
        length: The parameter that limits the answer.
        usage: Whether figures must be `asked` for; servers that do not know the question report them `unasked`, or never.
        structured: How the server holds its model to a schema.
        end: What ends an answer: the frame `[DONE]`, or, at servers that send none, the `finish_reason`. An answer without
            its end counts as cut off.
    """

    length: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    usage: Literal["asked", "unasked"] = "asked"
    structured: StructuredWay = "schema"
    end: Literal["done", "finish_reason"] = "done"


class OpenAIChat:
    """A model behind OpenAI's chat completions, or behind a server that speaks like them.

    It runs on asyncio and on trio. One object serves any number of calls and loops; `aclose` gives back the connections of
    the loop that is running.

    Args:
        model: The model's name, as the server knows it.
        api_key: Default: the variable `OPENAI_API_KEY`.
        base_url: The server, up to and with `/v1`; default: the variable `OPENAI_BASE_URL`, else the vendor's own.
        client: A client of the SDK, made by the caller, in place of key and server; make it with `max_retries=0`.
        dialect: What the server differs in; default: as at the vendor, or as at most others.
        name: What facts and receipts call it; default: `openai:` and the model.

    Raises:
        ValueError: There is no key.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        dialect: ChatDialect | None = None,
        name: str | None = None,
    ) -> None:
        own = is_vendor(base_url, client)
        self.model = model
        self.name = f"openai:{model}" if name is None else name
        self.vendor = "openai" if own else None
        if dialect is None:
            dialect = ChatDialect(length="max_completion_tokens") if own else ChatDialect()
        self.dialect = dialect
        self.structured = dialect.structured
        told = ("input_tokens", "output_tokens") if dialect.usage == "asked" else ()
        self.reports = frozenset(told)
        self._clients = clients_of(api_key, base_url, client)

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The answer as it comes.

        Raises:
            ModelError: The server refused or failed, or its answer was cut off.
        """
        names = ToolNames(context.tools)
        answer = ChatAnswer(names, end=self.dialect.end)
        try:
            request = self._request(messages, context, names)
            create = self._clients.get().chat.completions.with_streaming_response.create
            async with create(**request) as response, aclosing(_bodies(response)) as bodies:
                async for body in bodies:
                    for chunk in answer.take(body):
                        yield chunk
        except Exception as error:
            raise failure_of(error) from error
        if not answer.whole:
            raise cut_off()
        yield answer.finish()

    def _request(
        self, messages: Sequence[Message], context: ModelContext, names: ToolNames
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": to_openai_chat(messages, names),
            "stream": True,
            "extra_body": dict(context.parameters),
        }
        if self.dialect.usage == "asked":
            request["stream_options"] = {"include_usage": True}
        if context.max_output_tokens is not None:
            request[self.dialect.length] = context.max_output_tokens
        if context.tools:
            request["tools"] = chat_tools(context.tools, names)
            if context.tool_choice is not None:
                request["tool_choice"] = chat_choice(context.tool_choice, names)
        if context.output_schema is not None and self.structured == "schema":
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": answer_schema(context.output_schema),
            }
        return request

    async def aclose(self) -> None:
        """Give back the connections of the loop that is running; the next call makes new ones."""
        await self._clients.aclose()

    def __repr__(self) -> str:
        return f"<OpenAIChat {self.name!r}>"


def answer_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as OpenAI takes it: strict where it can be said strictly."""
    strict = strict_schema(schema)
    if strict is None:
        return {"name": "answer", "schema": dict(schema), "strict": False}
    return {"name": "answer", "schema": strict, "strict": True}


async def _bodies(response: Any) -> AsyncGenerator[Any, None]:
    """The bodies of the events, or the one body of a server that does not stream; `None` for the frame that ends them."""
    if response.headers.get("content-type", "").startswith("application/json"):
        yield _whole(await response.read())
        yield None
        return
    async with aclosing(events_of(response.http_response)) as events:
        async for event in events:
            if event.data.strip() != "[DONE]":
                yield event.json()
                continue
            await read_to_end(events)
            yield None
            return


def _whole(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise ModelError(f"the provider sent a body that is no JSON: {error}") from error


def from_name(model: str) -> OpenAIChat:
    """The provider behind `openai:model`.

    Raises:
        ValueError: There is no key.
    """
    return OpenAIChat(model)
