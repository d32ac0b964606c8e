"""A model request: everything that is asked, fixed before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.frozen import freeze
from agentflow.messages.message import Message, as_messages, system
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.model import Model
from agentflow.models.transport import Preparation, Transport

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["ModelRequest", "request_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request, as the provider will get it; see `ModelContext` for the fields."""

    model: Model
    transport: Transport
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    tool_choice: str | None
    max_output_tokens: int | None
    output_schema: Mapping[str, Any] | None
    parameters: Mapping[str, Any]

    @property
    def chars(self) -> int:
        """Its size in characters, as `Budget.input_chars` counts it: what the messages say, tools left out."""
        return sum(message.chars for message in self.messages)

    def identity(self) -> tuple[Any, ...]:
        """What makes it this request and no other, as data."""
        return (
            self.model.name,
            self.transport.name,
            tuple(message.digest for message in self.messages),
            tuple((tool.name, tool.parameters) for tool in self.tools),
            self.tool_choice,
            self.max_output_tokens,
            self.output_schema,
            self.parameters,
        )


def request_of(
    ctx: NodeContext,
    model: Model,
    transport: Transport,
    preparation: Preparation,
    input: Any,
    *,
    instructions: str | None,
    tools: Iterable[Any],
    tool_choice: str | None,
    max_output_tokens: int | None,
    parameters: Mapping[str, Any] | None,
) -> ModelRequest:
    """Assemble the messages, and fix the request.

    Raises:
        ContractError: The input is no message, a tool is none, or the tool choice names no offered tool.
    """
    where = f"node {ctx.node_id!r}: ctx.model.invoke"
    try:
        given = as_messages(input)
    except TypeError as error:
        raise ContractError(f"{where}: {error}") from error
    if not given:
        raise ContractError(f"{where}: the input is empty; give the model at least one message")
    specs = _specs(ctx, tools, where)
    allowed = {"auto", "none", "required", *(spec.name for spec in specs)}
    if tool_choice is not None and tool_choice not in allowed:
        raise ContractError(
            f"{where}: tool_choice={tool_choice!r} is none of {', '.join(map(repr, sorted(allowed)))}"
        )
    return ModelRequest(
        model=model,
        transport=transport,
        messages=_assembled(given, instructions, preparation.instructions),
        tools=specs,
        tool_choice=tool_choice,
        max_output_tokens=max_output_tokens,
        output_schema=preparation.schema,
        parameters=freeze({**preparation.parameters, **(parameters or {})}),
    )


def _assembled(
    given: tuple[Message, ...], instructions: str | None, of_transport: str | None
) -> tuple[Message, ...]:
    """The caller's instructions, the input's own leading ones, the transport's, and then the conversation."""
    at = 0
    while at < len(given) and given[at].role == "system":
        at += 1
    first = () if instructions is None else (system(instructions),)
    last = () if of_transport is None else (system(of_transport),)
    return (*first, *given[:at], *last, *given[at:])


def _specs(ctx: NodeContext, tools: Iterable[Any], where: str) -> tuple[ToolSpec, ...]:
    found: list[ToolSpec] = []
    for tool in (tools,) if isinstance(tools, str) else tools:
        if isinstance(tool, str):
            found.extend(ctx.tools.specs([tool]))
            continue
        spec = tool if isinstance(tool, ToolSpec) else getattr(tool, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise ContractError(
                f"{where}: {tool!r} is no tool; give tools made with @tool, or ids of registered ones"
            )
        found.append(spec)
    return tuple(found)
