"""A bridge to every model of pydantic-ai: Google, Bedrock, Mistral, Groq, and whatever else it knows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentflow.errors import ModelRequestRefused
from agentflow.graph.frozen import thaw
from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message
from agentflow.models.answer_form import StructuredWay
from agentflow.models.failure import failure_of
from agentflow.models.ports import ModelContext
from agentflow.providers.strict_schema import is_closed

try:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import Model, ModelRequestParameters, infer_model
    from pydantic_ai.output import OutputObjectDefinition

    from agentflow.providers.pydantic_ai_answer import BridgedAnswer
    from agentflow.providers.pydantic_ai_input import pydantic_ai_messages, pydantic_ai_tools
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the bridge to pydantic-ai needs the package 'pydantic-ai-slim': pip install 'agentflow[pydantic-ai]'",
        name=error.name,
    ) from error

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

__all__ = ["PydanticAIModel", "from_name"]


class PydanticAIModel:
    """A model of pydantic-ai as a provider; on asyncio alone.

    Connections belong to pydantic-ai, which keeps them for the process.

    Args:
        model: A model of pydantic-ai, or the string by which it knows one, such as `google:gemini-3-pro`.
        name: What facts and receipts call it; default: `pydantic-ai:`, the system and the model.

    Raises:
        ValueError: pydantic-ai knows no such model, or lacks a package or a key for it.
    """

    reports = frozenset({"input_tokens", "output_tokens"})

    def __init__(self, model: Model[Any] | str, *, name: str | None = None) -> None:
        self._model = _inferred(model) if isinstance(model, str) else model
        self.model = self._model.model_name
        self.vendor = self._model.system
        self.name = f"pydantic-ai:{self.vendor}:{self.model}" if name is None else name

    def structured(self, schema: Mapping[str, Any]) -> StructuredWay:
        """How the vendor holds its model to this schema, as pydantic-ai knows it."""
        profile: Mapping[str, Any] = self._model.profile
        if profile.get("supports_json_schema_output") and is_closed(schema):
            return "schema"
        return "tool" if profile.get("supports_tools", True) else "prompt"

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The answer as it comes.

        Raises:
            ModelError: The vendor refused or failed, or its answer was cut off; or this is not asyncio.
        """
        if not _on_asyncio():
            raise ModelRequestRefused(
                f"{self.name!r}: pydantic-ai is made for asyncio; on trio use 'openai:…' or 'anthropic:…'"
            )
        names = ToolNames(context.tools)
        answer = BridgedAnswer(names)
        try:
            async with model_request_stream(
                self._model,
                pydantic_ai_messages(messages, names),
                model_settings=_settings(context, names),
                model_request_parameters=_parameters(context, names),
                instrument=False,
            ) as response:
                coming: Any = aiter(response)
                async with aclosing(coming) as events:
                    async for event in events:
                        for chunk in answer.take(event):
                            yield chunk
                for chunk in answer.finish(response):
                    yield chunk
        except Exception as error:
            raise failure_of(error) from error

    def __repr__(self) -> str:
        return f"<PydanticAIModel {self.name!r}>"


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _settings(context: ModelContext, names: ToolNames) -> ModelSettings:
    # Tries are counted and waited for one layer up.
    settings: dict[str, Any] = {"max_retries": 0}
    if context.max_output_tokens is not None:
        settings["max_tokens"] = context.max_output_tokens
    if context.tools and context.tool_choice is not None:
        choice = context.tool_choice
        general = choice in ("auto", "none", "required")
        settings["tool_choice"] = choice if general else [names.wire(choice)]
    made: Any = {**settings, **thaw(dict(context.parameters))}
    found: ModelSettings = made
    return found


def _parameters(context: ModelContext, names: ToolNames) -> ModelRequestParameters:
    tools = pydantic_ai_tools(context.tools, names)
    if context.output_schema is None:
        return ModelRequestParameters(function_tools=tools)
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="native",
        output_object=OutputObjectDefinition(thaw(context.output_schema), name="answer"),
    )


def _inferred(model: str) -> Model[Any]:
    try:
        return infer_model(model)
    except (UserError, ImportError, ValueError) as error:
        raise ValueError(f"pydantic-ai cannot make the model {model!r}: {error}") from error


def from_name(model: str) -> PydanticAIModel:
    """The provider behind `pydantic-ai:vendor:model`.

    Raises:
        ValueError: pydantic-ai knows no such model, or lacks a package or a key for it.
    """
    return PydanticAIModel(model)
