"""The port to a model: a provider, what it is told of a call, and the counter of its tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentflow.graph.frozen import FrozenDict
from agentflow.messages.chunk import Chunk
from agentflow.messages.message import Message
from agentflow.messages.tool_spec import ToolSpec
from agentflow.run.signal import CancelSignal

__all__ = ["Counter", "ModelContext", "Provider"]

Counter = Callable[[Sequence[Message], Sequence[ToolSpec]], int | Awaitable[int]]
"""Counts the input tokens of a request, exactly as the model does; plain or async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContext:
    """What a provider is told of one call, besides the messages.

    Args:
        signal: Cancelled when the run is.
        run_id: The run that calls.
        node_id: The node that calls.
        call_id: The call; unique in the run, and the same when a crashed visit is gone through again.
        transport: The name of the transport that reads the answer.
        tools: What is offered to the model.
        tool_choice: `auto`, `none`, `required`, or the name of an offered tool; `None` for the provider's own default.
        max_output_tokens: How long the answer may be.
        output_schema: The JSON schema that the answer's text must satisfy, if it must satisfy one.
        parameters: Whatever else the caller set, by name.
    """

    signal: CancelSignal
    run_id: str
    node_id: str
    call_id: str
    transport: str = "text"
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | None = None
    max_output_tokens: int | None = None
    output_schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=FrozenDict)


class Provider(Protocol):
    """Whatever can answer: one method. It holds nothing of a call, so that many calls may use it at the same time.

    A provider may also have

    - a `name`, for facts and receipts;
    - `reports`: the names of the usage figures that it tells of every call that ends well, as `UsageChunk` names them; limits of
      tokens and cost can only be kept with figures that are counted or reported;
    - `structured`: how it gets answers that keep to a JSON schema, as `answer_form` tells; default: `prompt`;
    - `vendor` and `model`: the names by which its price is looked up;
    - `aclose()`: gives back the connections that it holds in the loop that is running.
    """

    def stream(self, messages: Sequence[Message], context: ModelContext) -> AsyncIterator[Chunk]:
        """Ask the model, and hand out its answer in chunks, a `FinishChunk` after the last piece of content.

        The iterator is closed (`aclose`, where it has one) as soon as nobody wants the rest.
        """
        ...
