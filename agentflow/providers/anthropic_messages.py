"""Anthropic's Messages API."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from agentflow.graph.frozen import thaw
from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.anthropic import to_anthropic
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.answer_form import StructuredWay
from agentflow.models.failure import cut_off, failure_of
from agentflow.models.ports import ModelContext
from agentflow.providers.anthropic_answer import AnthropicAnswer
from agentflow.providers.anthropic_tools import anthropic_choice, anthropic_tools
from agentflow.providers.clients import Clients
from agentflow.providers.event_stream import events_of, read_to_end
from agentflow.providers.strict_schema import is_closed, is_recursive

try:
    import anthropic
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "models of Anthropic need the package 'anthropic': pip install 'agentflow[anthropic]'",
        name=error.name,
    ) from error

__all__ = ["AnthropicMessages", "from_name"]

_KEY: Final = "ANTHROPIC_API_KEY"
_ADDRESS: Final = "ANTHROPIC_BASE_URL"
_VENDOR_ADDRESS: Final = "https://api.anthropic.com"

_WITHOUT_SCHEMAS: Final = re.compile(
    r"claude-(?:instant|2|3)|claude-(?:opus|sonnet)-4-(?:0|20250514)$"
)
"""Models from before the vendor held answers to schemas."""


class AnthropicMessages:
    """A model behind Anthropic's Messages API, or behind a server that speaks like it.

    It runs on asyncio and on trio. Thinking goes back as the vendor has sent it, signed.

    Args:
        model: The model's name, as the server knows it.
        api_key: Default: the variable `ANTHROPIC_API_KEY`, or whatever else the SDK finds a key in.
        base_url: The server; default: the variable `ANTHROPIC_BASE_URL`, else the vendor's own.
        client: A client of the SDK, made by the caller, in place of key and server; make it with `max_retries=0`.
        max_tokens: How long an answer may be where the call does not say; this vendor must be told.
        structured: How the server holds its model to a schema; default: natively, where model and schema allow it, else by
            a forced tool call.
        name: What facts and receipts call it; default: `anthropic:` and the model.

    Raises:
        ValueError: There is no key.
    """

    reports = frozenset({"input_tokens", "output_tokens"})

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: anthropic.AsyncAnthropic | None = None,
        max_tokens: int = 8192,
        structured: StructuredWay | None = None,
        name: str | None = None,
    ) -> None:
        self.model = model
        self.name = f"anthropic:{model}" if name is None else name
        self.max_tokens = max_tokens
        self._way = structured
        self._clients = Clients(lambda: _client(api_key, base_url), client)
        address = str(self._clients.unused.base_url)
        self.vendor = "anthropic" if address.startswith(_VENDOR_ADDRESS) else None

    def structured(self, schema: Mapping[str, Any]) -> StructuredWay:
        """How the server holds its model to this schema."""
        if self._way is not None:
            return self._way
        native = not _WITHOUT_SCHEMAS.match(self.model)
        return "schema" if native and is_closed(schema) and not is_recursive(schema) else "tool"

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The answer as it comes.

        Raises:
            ModelError: The server refused or failed, or its answer was cut off.
        """
        names = ToolNames(context.tools)
        answer = AnthropicAnswer(names)
        try:
            request = self._request(messages, context, names)
            create = self._clients.get().messages.with_streaming_response.create
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
        try:
            asked = self._asked(messages, tools, ToolNames(tools))
            counted = await self._clients.get().messages.count_tokens(**asked)
        except Exception as error:
            raise failure_of(error) from error
        return counted.input_tokens

    def _asked(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], names: ToolNames
    ) -> dict[str, Any]:
        system, turns = to_anthropic(messages, names)
        asked: dict[str, Any] = {"model": self.model, "messages": turns}
        if system:
            asked["system"] = system
        if tools:
            asked["tools"] = anthropic_tools(tools, names)
        return asked

    def _request(
        self, messages: Sequence[Message], context: ModelContext, names: ToolNames
    ) -> dict[str, Any]:
        request = self._asked(messages, context.tools, names)
        request |= {
            "max_tokens": context.max_output_tokens or self.max_tokens,
            "stream": True,
            "extra_body": dict(context.parameters),
        }
        if context.tools and context.tool_choice is not None:
            request["tool_choice"] = anthropic_choice(context.tool_choice, names)
        if context.output_schema is not None and self._way != "prompt":
            schema = anthropic.transform_schema(thaw(context.output_schema))
            request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return request

    async def aclose(self) -> None:
        """Give back the connections of the loop that is running; the next call makes new ones."""
        await self._clients.aclose()

    def __repr__(self) -> str:
        return f"<AnthropicMessages {self.name!r}>"


def _client(api_key: str | None, base_url: str | None) -> anthropic.AsyncAnthropic:
    client = _made(api_key, base_url)
    if client.api_key or client.auth_token or client.credentials:
        return client
    if not base_url and not os.environ.get(_ADDRESS):
        raise ValueError(
            f"there is no key for Anthropic: set the variable {_KEY}, or give api_key=…; for a server of your own set "
            f"{_ADDRESS}, or give base_url=…"
        )
    # The SDK sends none without, and servers that want none look at none.
    return _made("none", base_url)


def _made(api_key: str | None, base_url: str | None) -> anthropic.AsyncAnthropic:
    # Tries are counted and waited for one layer up. The SDK's own HTTP client closes itself in whatever loop is running when
    # it is collected, so it is given another one.
    try:
        return anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(),
        )
    except anthropic.AnthropicError as error:
        # A profile that is chosen and is not there, for instance.
        raise ValueError(f"the key for Anthropic cannot be found: {error}") from error


def from_name(model: str) -> AnthropicMessages:
    """The provider behind `anthropic:model`.

    Raises:
        ValueError: There is no key.
    """
    return AnthropicMessages(model)
