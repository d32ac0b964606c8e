"""Nodes that make one call: of a model, or of a tool. Ordinary nodes, whose functions say what they call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import calling_place

__all__ = ["CallModel", "CallTool", "model_node", "tool_node"]


@dataclass(frozen=True, slots=True)
class CallModel:
    """The function of a node that calls a model once.

    Args:
        input: The field that holds what the model is asked, or a function of the state that makes it.
        output: The field that the parsed answer is put into.
        options: What else `ctx.model.invoke` is given.
    """

    input: str | Callable[[Any], Any]
    output: str
    options: Mapping[str, Any]

    async def __call__(self, state: Any, ctx: Any) -> dict[str, Any]:
        asked = self.input(state) if callable(self.input) else state[self.input]
        reply = await ctx.model.invoke(asked, **self.options)
        return {self.output: reply.value}


@dataclass(frozen=True, slots=True)
class CallTool:
    """The function of a node that calls a tool once.

    Args:
        tool: The id of the tool.
        inputs: Parameter of the tool = field of the state; a field that does not exist is left out.
        output: The field that the tool's value is put into; `None` to drop it.
    """

    tool: str
    inputs: Mapping[str, str]
    output: str | None

    async def __call__(self, state: Any, ctx: Any) -> dict[str, Any] | None:
        given = {name: state[field] for name, field in self.inputs.items() if field in state}
        receipt = await ctx.tools.invoke(self.tool, given)
        return None if self.output is None else {self.output: receipt.value}


def model_node(
    id: str,
    *,
    input: str | Callable[[Any], Any],
    output: str,
    transport: Any = None,
    model: str | None = None,
    instructions: str | None = None,
    **options: Any,
) -> Node:
    """A node that calls a model once and puts the parsed answer into a field.

    Args:
        id: The node's id.
        input: The field that holds the text or the messages to ask with, which is put to `requires` by itself; or a function
            of the state that makes them (then name what it reads in `requires`).
        output: The field of the answer; it is put to `provides` by itself.
        transport: How the answer is read, such as `structured(Report)`; default: as text.
        model: The name of one of the engine's models; default: its default model.
        instructions: What the model is told before the input.
        options: `routes`, `requires`, `retry` and whatever else `node` takes; `uses` is one model call for each attempt, and
            one for each correction that the transport may ask for.
    """
    asked = {"transport": transport, "model": model, "instructions": instructions}
    function = CallModel(input, output, {k: v for k, v in asked.items() if v is not None})
    retry = options.get("retry")
    calls = getattr(retry, "attempts", 1) * (1 + getattr(transport, "corrections", 0))
    options = {"uses": Uses(model_calls=calls), "description": "Ask a model.", **options}
    made = make_node(function, id=id, place=calling_place(), **options)
    needed = (input,) if isinstance(input, str) else ()
    return _with_fields(made, needed, (output,))


def tool_node(
    id: str,
    *,
    tool: Any,
    inputs: Mapping[str, str] | None = None,
    output: str | None = None,
    **options: Any,
) -> Node:
    """A node that calls a tool once and puts its value into a field.

    Args:
        id: The node's id.
        tool: The tool, or its id; the engine that runs the workflow must have it.
        inputs: Parameter of the tool = field of the state; the fields are put to `requires` by themselves.
        output: The field of the value, put to `provides` by itself; default: the value is dropped.
        options: `routes`, `requires`, `on_error` and whatever else `node` takes; `uses` is every try that the tool and the
            node's retry allow.
    """
    function = CallTool(getattr(tool, "id", tool), dict(inputs or {}), output)
    attempts = getattr(options.get("retry"), "attempts", 1)
    tries = attempts * (1 + getattr(tool, "retries", 0))
    options = {"uses": Uses(tool_calls=tries), "description": "Call a tool.", **options}
    made = make_node(function, id=id, place=calling_place(), **options)
    return _with_fields(made, tuple(function.inputs.values()), () if output is None else (output,))


def _with_fields(made: Node, needed: tuple[str, ...], given: tuple[str, ...]) -> Node:
    return dataclasses.replace(
        made,
        requires=tuple(dict.fromkeys((*needed, *made.requires))),
        provides=tuple(dict.fromkeys((*given, *made.provides))),
    )
