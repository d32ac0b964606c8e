"""A request as a cassette holds it: all that makes it this request and no other, and nothing that differs from run to run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from agentflow.graph.frozen import thaw
from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.mock.cassette.text import Scrub, kept
from agentflow.models.ports import ModelContext

__all__ = ["Data", "asked_of"]

Data = dict[str, Any]


def asked_of(messages: Sequence[Message], context: ModelContext, scrub: Scrub) -> Data:
    """The request as data. Ids of tool calls are numbered, because vendors make them up anew each time."""
    ids = _Ids()
    asked: Data = {"messages": [_message(message, ids) for message in messages]}
    if context.tools:
        asked["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": _plain(tool.parameters),
            }
            for tool in context.tools
        ]
    for name in ("tool_choice", "max_output_tokens", "output_schema", "parameters"):
        value = getattr(context, name)
        if value is not None and value != {}:
            asked[name] = _plain(value)
    data: Data = kept(asked, scrub)
    return data


class _Ids(dict[str, str]):
    """Numbers for the ids of one conversation, in the order in which they come up."""

    def __missing__(self, id: str) -> str:
        self[id] = f"call_{len(self) + 1}"
        return self[id]


def _message(message: Message, ids: _Ids) -> Data:
    parts = message.content
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return {"role": message.role, "content": parts[0].text}
    return {"role": message.role, "content": [_part(part, ids) for part in parts]}


def _part(part: Part, ids: _Ids) -> Data:
    match part:
        case TextPart(text=text):
            return {"text": text}
        case ReasoningPart(text=text):
            return {"reasoning": text}
        case FilePart():
            return {"file": _file(part)}
        case ToolCall():
            arguments = _plain(part.arguments) if part.raw is None else part.raw
            return {"call": {"id": ids[part.id], "name": part.name, "arguments": arguments}}
        case ToolResult():
            result: Data = {"id": ids[part.call_id], "name": part.name, "content": part.content}
            if part.is_error:
                result["is_error"] = True
            if part.files:
                result["files"] = [_file(file) for file in part.files]
            return {"result": result}


def _file(file: FilePart) -> Data:
    """A file by what it is and where it lies; content by its digest, which is enough to know it again."""
    told: Data = {"media_type": file.media_type}
    if file.name is not None:
        told["name"] = file.name
    if file.data is None:
        return told | {"url": file.url}
    return told | {"bytes": len(file.data), "sha256": hashlib.sha256(file.data).hexdigest()}


def _plain(value: Any) -> Any:
    """A value as JSON has it, so that it can be compared with what was read from a file."""
    from pydantic_core import to_jsonable_python

    thawed = thaw(value) if isinstance(value, Mapping | list) else value
    return to_jsonable_python(thawed, bytes_mode="base64", inf_nan_mode="strings", fallback=repr)
