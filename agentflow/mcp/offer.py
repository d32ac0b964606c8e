"""A workflow as a tool: what others are told of it, and what its results are to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from agentflow.graph.contract import reason_of
from agentflow.graph.schema import FieldSpec
from agentflow.graph.typeddict import rebuilt
from agentflow.graph.workflow import Workflow
from agentflow.mcp.content import blocks_of
from agentflow.mcp.sdk import types
from agentflow.messages.file_part import FilePart
from agentflow.tools.output import ToolOutput

__all__ = ["Offer"]

_ONLY: Final = "result"
"""The one property of the object that stands for a result which is no object: structured content was one before 2026-07-28."""


class Offer:
    """A workflow as others see it.

    Args:
        workflow: The workflow.

    Raises:
        ValueError: An input has a type of which no JSON schema can be made.
    """

    __slots__ = ("_result", "_wrapped", "tool")

    def __init__(self, workflow: Workflow[Any]) -> None:
        # Files are content, and no data.
        as_data = workflow.result not in (None, FilePart, ToolOutput)
        self._result = _adapter(workflow.result) if as_data else None
        schema = None if self._result is None else _schema(self._result)
        self._wrapped = schema is not None and schema.get("type") != "object"
        if schema is not None and self._wrapped:
            schema = _wrapping(schema)
        self.tool = types.Tool(
            name=workflow.id,
            description=workflow.description or f"Run the workflow {workflow.id!r}.",
            input_schema=_input_schema(workflow),
            output_schema=schema,
        )

    def answer(self, value: Any) -> tuple[list[types.ContentBlock], Any]:
        """A result as blocks of content, and as data where the output schema promises that."""
        match value:
            case FilePart():
                return blocks_of("", [value]), None
            case ToolOutput():
                return blocks_of(value.text, value.files), None
        if self._result is None:
            data = to_jsonable_python(value, fallback=repr)
        else:
            data = self._result.dump_python(value, mode="json", warnings="none", fallback=repr)
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        if self.tool.output_schema is None:
            return blocks_of(text, ()), None
        return blocks_of(text, ()), {_ONLY: data} if self._wrapped else data


def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(rebuilt(hint))
    except Exception:
        # A class that pydantic knows nothing of: what it gives is told as it tells itself.
        return None


def _schema(result: TypeAdapter[Any]) -> dict[str, Any] | None:
    try:
        return result.json_schema(mode="serialization")
    except Exception:
        # pydantic raises many kinds for what has no schema; then nothing is promised.
        return None


def _wrapping(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {name: part for name, part in schema.items() if name != "$defs"}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {_ONLY: inner},
        "required": [_ONLY],
    }
    # References are told from the root.
    return made | {name: schema[name] for name in ("$defs",) if name in schema}


def _input_schema(workflow: Workflow[Any]) -> dict[str, Any]:
    fields = workflow.plan.inputs
    adapters = [
        (name, "validation", _input_adapter(workflow, name, spec)) for name, spec in fields.items()
    ]
    schemas, shared = TypeAdapter.json_schemas(adapters)  # type: ignore[arg-type]
    made: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            name: {**schemas[name, "validation"], **_default(spec)} for name, spec in fields.items()
        },
        "required": [name for name in workflow.inputs if fields[name].default is None],
        "additionalProperties": workflow.open_inputs,
    }
    return made | shared


def _input_adapter(workflow: Workflow[Any], name: str, spec: FieldSpec) -> TypeAdapter[Any]:
    try:
        adapter = TypeAdapter(rebuilt(spec.annotation))
        adapter.json_schema()
    except Exception as error:
        # pydantic raises many kinds for what has no schema.
        raise ValueError(
            f"workflow {workflow.id!r} cannot be a tool: its input {name!r} has no JSON schema: {reason_of(error)}"
        ) from error
    return adapter


def _default(spec: FieldSpec) -> dict[str, Any]:
    """The default of a field, where it is the same each time and can be shown."""
    if spec.default is None or not spec.constant:
        return {}
    try:
        return {"default": to_jsonable_python(spec.default())}
    except ValueError:
        return {}
