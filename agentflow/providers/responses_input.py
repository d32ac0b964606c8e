"""Messages as OpenAI's Responses API takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentflow.errors import ModelRequestRefused
from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.messages.tool_spec import ToolSpec
from agentflow.providers.tool_names import ToolNames

__all__ = ["VENDOR", "responses_choice", "responses_input", "responses_tools"]

VENDOR: Final = "openai"
"""The mark of what this vendor wants back unread."""


def responses_input(messages: Sequence[Message], names: ToolNames) -> list[dict[str, Any]]:
    """The conversation, as items.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    return [item for message in messages for item in _items(message, names)]


def _items(message: Message, names: ToolNames) -> Iterator[dict[str, Any]]:
    if message.role == "assistant":
        for part in message.content:
            yield from _said(part, names)
        return
    content: list[dict[str, Any]] = []
    for part in message.content:
        match part:
            case ToolResult():
                yield {
                    "type": "function_call_output",
                    "call_id": part.call_id,
                    "output": _output(part),
                }
            case TextPart(text=text):
                content.append({"type": "input_text", "text": text})
            case FilePart():
                content.append(_file(part))
    if content:
        yield {"role": "system" if message.role == "system" else "user", "content": content}


def _said(part: Any, names: ToolNames) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart(text=text):
            yield {"role": "assistant", "content": [{"type": "output_text", "text": text}]}
        case ToolCall():
            yield {
                "type": "function_call",
                "call_id": part.id,
                "name": names.wire(part.name),
                "arguments": json.dumps(part.arguments, ensure_ascii=False),
            }
        case ReasoningPart(vendor_data=Mapping() as data) if data.get("vendor") == VENDOR:
            yield {"type": "reasoning", **{k: v for k, v in data.items() if k != "vendor"}}
        case FilePart():
            raise ModelRequestRefused("an answer that holds files cannot be sent back to OpenAI")
        case _:
            pass


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    if not result.files:
        return result.content
    return [{"type": "input_text", "text": result.content}, *map(_file, result.files)]


def _file(part: FilePart) -> dict[str, Any]:
    if part.family == "image":
        return {"type": "input_image", "image_url": part.data_url, "detail": "auto"}
    if part.family == "audio":
        raise ModelRequestRefused(
            f"OpenAI's Responses API takes no {part.media_type}; its chat completions do: 'openai:…'"
        )
    if part.data is None:
        return {"type": "input_file", "file_url": part.url}
    if part.family == "text":
        name = "" if part.name is None else f"{part.name}:\n"
        return {"type": "input_text", "text": name + part.data.decode("utf-8", "replace")}
    name = part.name or f"file.{part.media_type.partition('/')[2]}"
    return {"type": "input_file", "filename": name, "file_data": part.data_url}


def responses_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "type": "function",
            "name": names.wire(tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
            # Else the vendor makes every parameter a required one.
            "strict": False,
        }
        for tool in tools
    ]


def responses_choice(choice: str, names: ToolNames) -> Any:
    """Which of them it may call."""
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": names.wire(choice)}
