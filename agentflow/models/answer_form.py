"""The form of a structured answer: how a model is held to a JSON schema, by the best way that its provider has.

A provider says which way that is by its attribute `structured`: `schema` where the vendor holds the answer to a schema,
`tool` where a forced tool call does, and `prompt`, the last way, where the model is only told; or by a function of the schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agentflow.graph.frozen import freeze
from agentflow.messages.chunk import Chunk, FinishChunk, TextChunk, ToolCallChunk
from agentflow.messages.message import Message
from agentflow.messages.part import TextPart
from agentflow.messages.surrogates import whole_text
from agentflow.messages.tool_spec import ToolSpec

__all__ = ["PLAIN", "AnswerForm", "AnswerReader", "StructuredWay", "form_of"]

StructuredWay = Literal["schema", "tool", "prompt"]
"""How a provider gets answers that keep to a JSON schema."""

_TOOL: Final = "final_answer"
_TOOL_TEXT: Final = (
    "Give the final answer. Call this once, when everything that is needed for it is known."
)
_ONLY: Final = "value"
"""The name of the one property of the object that stands for a value which is no object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """How one request asks for its answer, and how the answer is read back.

    Args:
        schema: The schema that the provider is given, of an object; `None` where it is given none.
        tool: The tool that the model is made to call with its answer.
        told: Whether the model is told the schema in words.
        wrapped: Whether the value stands inside of an object, because vendors take schemas of objects alone.
    """

    schema: Mapping[str, Any] | None = None
    tool: ToolSpec | None = None
    told: bool = False
    wrapped: bool = False


class AnswerReader:
    """Reads the chunks of one answer as if it had been said in plain text, whichever way it came.

    Args:
        form: How it was asked for.

    Attributes:
        translates: Whether the answer comes as a call, so that its chunks are other ones for whoever reads it.
    """

    __slots__ = ("_indexes", "_pieces", "_tool", "_wrapped", "translates")

    def __init__(self, form: AnswerForm) -> None:
        self._tool = None if form.tool is None else form.tool.name
        self.translates = form.tool is not None
        self._wrapped = form.wrapped
        self._indexes: set[int] = set()
        self._pieces: list[str] = []

    def take(self, chunk: Chunk) -> Chunk | None:
        """The chunk as it is handed on; `None` for one that has nothing to say."""
        match chunk:
            case ToolCallChunk(name=name, index=index) if name == self._tool or (
                not name and index in self._indexes
            ):
                self._indexes.add(index)
                self._pieces.append(chunk.arguments)
                return TextChunk(chunk.arguments) if chunk.arguments else None
            case FinishChunk(reason="tool_calls") if self._indexes:
                return FinishChunk("stop")
            case _:
                return chunk

    def read(self, answer: Message) -> Message:
        """The whole answer, with nothing said but the value."""
        if answer.tool_calls or not (self._indexes or self._wrapped):
            return answer
        text = whole_text("".join(self._pieces)) if self._indexes else answer.text
        if self._wrapped:
            text = _unwrapped(text)
        others = tuple(part for part in answer.content if not isinstance(part, TextPart))
        said = (TextPart(text),) if text else ()
        return Message(answer.role, (*others, *said), answer.provenance, answer.id)


def _unwrapped(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # Whatever else it is, the type that was asked for says what is wrong with it.
    whole = isinstance(value, dict) and value.keys() == {_ONLY}
    return json.dumps(value[_ONLY], ensure_ascii=False) if whole else text


PLAIN: Final = AnswerForm()
"""The form of an answer that keeps to no schema."""


def form_of(way: StructuredWay, schema: Mapping[str, Any]) -> AnswerForm:
    """The form of an answer that keeps to `schema`, at a provider with that way."""
    if way == "prompt":
        return AnswerForm(schema=schema, told=True)
    wrapped = schema.get("type") != "object"
    of_object = _wrapping(schema) if wrapped else schema
    if way == "tool":
        tool = ToolSpec(_TOOL, _TOOL_TEXT, of_object)
        return AnswerForm(tool=tool, wrapped=wrapped)
    return AnswerForm(schema=of_object, wrapped=wrapped)


def _wrapping(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = {name: value for name, value in schema.items() if name != "$defs"}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {_ONLY: inner},
        "required": [_ONLY],
        "additionalProperties": False,
    }
    if "$defs" in schema:
        # References are told from the root.
        made["$defs"] = schema["$defs"]
    frozen: Mapping[str, Any] = freeze(made)
    return frozen
