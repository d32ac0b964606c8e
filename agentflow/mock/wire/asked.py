"""What was asked, whatever the format: the request as a provider takes it, and how the answer is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentflow.messages.chunk import FinishChunk, ReasoningChunk, TextChunk, ToolCallChunk
from agentflow.messages.collector import Collector
from agentflow.messages.message import Message
from agentflow.messages.part import VendorData
from agentflow.messages.tool_spec import ToolSpec
from agentflow.mock.wire.fields import Fields
from agentflow.models.ports import ModelContext
from agentflow.run.signal import CancelSignal

__all__ = ["Asked", "Said", "assistant_of", "names_of_calls", "parameters_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, understood.

    Args:
        model: The model that it names.
        messages: The whole conversation, instructions first.
        tools: What is offered.
        tool_choice: As `ModelContext` has it.
        max_output_tokens: How long the answer may be.
        output_schema: The JSON schema of the answer.
        parameters: Whatever else was set, by name, and the model's name.
        stream: Whether the answer is wanted in events.
        stream_usage: Whether the events shall tell usage figures, where a format lets the client choose.
        has_instructions: Whether the first message is no part of the conversation, but holds for this answer only.
        body: The body as it came, for what an answer repeats.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | None = None
    max_output_tokens: int | None = None
    output_schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    stream_usage: bool = True
    has_instructions: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)

    def context(self, id: str, signal: CancelSignal) -> ModelContext:
        """What the provider is told besides the messages."""
        return ModelContext(
            signal=signal,
            run_id="mock-server",
            node_id="mock-server",
            call_id=id,
            transport="text" if self.output_schema is None else "structured",
            tools=self.tools,
            tool_choice=self.tool_choice,
            max_output_tokens=self.max_output_tokens,
            output_schema=self.output_schema,
            parameters=self.parameters,
        )


@dataclass(frozen=True, slots=True)
class Said:
    """What an assistant message of the body holds, in order: a text, a reasoning, or a call with its id, name and arguments."""

    text: str = ""
    reasoning: str = ""
    call: tuple[str, str, str] | None = None
    vendor_data: VendorData | None = None


def assistant_of(parts: Iterable[Said]) -> Message:
    """The message of an assistant, made as it is made of a stream: broken arguments are kept and told."""
    collector = Collector()
    for number, part in enumerate(parts):
        if part.call is not None:
            id, name, arguments = part.call
            collector.add(ToolCallChunk(number, id, name, arguments))
        elif part.reasoning or part.vendor_data:
            collector.add(ReasoningChunk(part.reasoning, vendor_data=part.vendor_data))
        else:
            collector.add(TextChunk(part.text))
    collector.add(FinishChunk())
    return collector.message()


def names_of_calls(messages: Iterable[Message]) -> dict[str, str]:
    """The names of all tool calls by their ids: a result names only the id."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


def parameters_of(body: Fields, *known: str) -> dict[str, Any]:
    """All that was set besides the fields `known`."""
    return {name: value for name, value in body.data.items() if name not in known}
