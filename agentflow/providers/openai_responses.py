"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.openai_responses import to_openai_responses
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.answer_form import StructuredWay
from agentflow.models.failure import cut_off, failure_of
from agentflow.models.ports import ModelContext
from agentflow.providers.event_stream import events_of, read_to_end
from agentflow.providers.openai_chat import answer_schema
from agentflow.providers.openai_sdk import clients_of, is_vendor
from agentflow.providers.responses_answer import ResponsesAnswer
from agentflow.providers.responses_tools import responses_choice, responses_tools

if TYPE_CHECKING:
    import openai

__all__ = ["OpenAIResponses", "from_name"]


class OpenAIResponses:
    """A model behind OpenAI's Responses API.

    Conversations are kept here and not at the vendor: requests say `store: false`, and reasoning goes back as the vendor
    has sent it, sealed. It runs on asyncio and on trio.

    Args:
        model: The model's name, as the server knows it.
        api_key: Default: the variable `OPENAI_API_KEY`.
        base_url: The server, up to and with `/v1`; default: the variable `OPENAI_BASE_URL`, else the vendor's own.
        client: A client of the SDK, made by the caller, in place of key and server; make it with `max_retries=0`.
        name: What facts and receipts call it; default: `openai-responses:` and the model.

    Raises:
        ValueError: There is no key.
    """

    reports = frozenset({"input_tokens", "output_tokens"})
    structured: StructuredWay = "schema"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        name: str | None = None,
    ) -> None:
        self.model = model
        self.name = f"openai-responses:{model}" if name is None else name
        self.vendor = "openai" if is_vendor(base_url, client) else None
        self._clients = clients_of(api_key, base_url, client)

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The answer as it comes.

        Raises:
            ModelError: The server refused or failed, or its answer was cut off.
        """
        names = ToolNames(context.tools)
        answer = ResponsesAnswer(names)
        try:
            request = self._request(messages, context, names)
            create = self._clients.get().responses.with_streaming_response.create
            async with (
                create(**request) as response,
                aclosing(events_of(response.http_response)) as events,
            ):
                async for event in events:
                    for chunk in answer.take(event.json()):
                        yield chunk
                    if answer.end is not None:
                        await read_to_end(events)
        except Exception as error:
            raise failure_of(error) from error
        if answer.end is None:
            raise cut_off()
        yield answer.end

    async def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """The input tokens of a request, counted by the vendor: `Model(provider, counter=provider.count)`.

        Raises:
            ModelError: The server refused or failed.
        """
        names = ToolNames(tools)
        asked: dict[str, Any] = {"model": self.model, "input": to_openai_responses(messages, names)}
        if tools:
            asked["tools"] = responses_tools(tools, names)
        try:
            counted = await self._clients.get().responses.input_tokens.count(**asked)
        except Exception as error:
            raise failure_of(error) from error
        return counted.input_tokens

    def _request(
        self, messages: Sequence[Message], context: ModelContext, names: ToolNames
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "input": to_openai_responses(messages, names),
            "stream": True,
            "store": False,
            "extra_body": dict(context.parameters),
        }
        if context.max_output_tokens is not None:
            request["max_output_tokens"] = context.max_output_tokens
        if context.tools:
            request["tools"] = responses_tools(context.tools, names)
            if context.tool_choice is not None:
                request["tool_choice"] = responses_choice(context.tool_choice, names)
        if context.output_schema is not None:
            schema = answer_schema(context.output_schema)
            request["text"] = {"format": {"type": "json_schema", **schema}}
        return request

    async def aclose(self) -> None:
        """Give back the connections of the loop that is running; the next call makes new ones."""
        await self._clients.aclose()

    def __repr__(self) -> str:
        return f"<OpenAIResponses {self.name!r}>"


def from_name(model: str) -> OpenAIResponses:
    """The provider behind `openai-responses:model`.

    Raises:
        ValueError: There is no key.
    """
    return OpenAIResponses(model)
