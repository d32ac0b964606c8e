"""What was asked, whatever the format: the request as a provider takes it, and how the answer is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentflow.messages.formats.fields import Fields
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.ports import ModelContext
from agentflow.run.signal import CancelSignal

__all__ = ["Asked", "parameters_of"]


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


def parameters_of(body: Fields, *known: str) -> dict[str, Any]:
    """All that was set besides the fields `known`."""
    return {name: value for name, value in body.data.items() if name not in known}
