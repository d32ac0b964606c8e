"""Messages as OpenAI's chat completions take them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agentflow.errors import ModelRequestRefused
from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, TextPart, ToolCall, ToolResult
from agentflow.messages.tool_spec import ToolSpec
from agentflow.providers.tool_names import ToolNames

__all__ = ["chat_choice", "chat_messages", "chat_tools"]

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def chat_messages(messages: Sequence[Message], names: ToolNames) -> list[dict[str, Any]]:
    """The conversation.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    sent: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in messages:
        results = message.tool_results
        if not results:
            # Nothing may stand between the results of one answer, so files that tools gave come after them.
            sent += _of_files(waiting)
            waiting = []
            sent.append(_one(message, names))
            continue
        for result in results:
            sent.append({"role": "tool", "tool_call_id": result.call_id, "content": result.content})
            waiting += _files_of(result)
    return sent + _of_files(waiting)


def _one(message: Message, names: ToolNames) -> dict[str, Any]:
    match message.role:
        case "assistant":
            return _assistant(message, names)
        case "user":
            return {"role": "user", "content": _content(message)}
        case _:
            return {"role": "system", "content": message.text}


def _assistant(message: Message, names: ToolNames) -> dict[str, Any]:
    if message.files:
        raise ModelRequestRefused("an answer that holds files cannot be sent back to OpenAI")
    calls = [_call(call, names) for call in message.tool_calls]
    if not calls:
        return {"role": "assistant", "content": message.text}
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _call(call: ToolCall, names: ToolNames) -> dict[str, Any]:
    # What could not be read is sent as no arguments at all: broken JSON would make every later request invalid.
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function = {"name": names.wire(call.name), "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.files:
        return message.text
    return [
        {"type": "text", "text": part.text} if isinstance(part, TextPart) else _file(part)
        for part in message.content
        if isinstance(part, TextPart | FilePart)
    ]


def _files_of(result: ToolResult) -> list[dict[str, Any]]:
    if not result.files:
        return []
    told = {"type": "text", "text": f"What {result.name} gave with its result {result.call_id}:"}
    return [told, *map(_file, result.files)]


def _of_files(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": parts}] if parts else []


def _file(part: FilePart) -> dict[str, Any]:
    if part.family == "image":
        return {"type": "image_url", "image_url": {"url": part.data_url}}
    if part.data is None:
        raise ModelRequestRefused(
            f"OpenAI's chat completions take {part.media_type} by its content alone: give FilePart(…, data=…)"
        )
    if part.media_type in _SOUNDS:
        sound = {"data": part.base64, "format": _SOUNDS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    if part.family == "text":
        name = "" if part.name is None else f"{part.name}:\n"
        return {"type": "text", "text": name + part.data.decode("utf-8", "replace")}
    name = part.name or f"file.{part.media_type.partition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": part.data_url}}


def chat_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.wire(tool.name),
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def chat_choice(choice: str, names: ToolNames) -> Any:
    """Which of them it may call."""
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": names.wire(choice)}}
