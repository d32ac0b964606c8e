"""Messages as Anthropic's Messages API takes them: turns of user and assistant, made of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agentflow.errors import ModelRequestRefused
from agentflow.graph.frozen import thaw
from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.messages.tool_spec import ToolSpec
from agentflow.providers.tool_names import ToolNames

__all__ = ["VENDOR", "anthropic_choice", "anthropic_system", "anthropic_tools", "anthropic_turns"]

VENDOR: Final = "anthropic"
"""The mark of what this vendor wants back unread."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def anthropic_system(messages: Sequence[Message]) -> str:
    """The instructions that stand before the conversation; there is one place for all of them."""
    return "\n\n".join(message.text for message in _leading(messages))


def _leading(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if message.role != "system":
            return
        yield message


def anthropic_turns(messages: Sequence[Message], names: ToolNames) -> list[dict[str, Any]]:
    """The conversation: what follows one another from one side is one turn.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    turns: list[dict[str, Any]] = []
    for message in messages[sum(1 for _ in _leading(messages)) :]:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.content for block in _blocks(part, message, names)]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(part: Any, message: Message, names: ToolNames) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart(text=text):
            # An empty block is refused; and what the host says in between has no place of its own.
            if text:
                said = f"<system>\n{text}\n</system>" if message.role == "system" else text
                yield {"type": "text", "text": said}
        case ReasoningPart(text=text, vendor_data=Mapping() as data):
            if data.get("vendor") == VENDOR:
                yield _thought(text, data)
        case ToolCall():
            yield {
                "type": "tool_use",
                "id": _id(part.id),
                "name": names.wire(part.name),
                "input": thaw(part.arguments),
            }
        case ToolResult():
            yield _result(part)
        case FilePart():
            if message.role == "assistant":
                raise ModelRequestRefused(
                    "an answer that holds files cannot be sent back to Anthropic"
                )
            yield _file(part)


def _thought(text: str, data: Mapping[str, Any]) -> dict[str, Any]:
    if "data" in data:
        return {"type": "redacted_thinking", "data": data["data"]}
    return {"type": "thinking", "thinking": text, "signature": data.get("signature", "")}


def _result(result: ToolResult) -> dict[str, Any]:
    text = [{"type": "text", "text": result.content}] if result.content else []
    return {
        "type": "tool_result",
        "tool_use_id": _id(result.call_id),
        "content": [*text, *map(_file, result.files)],
        "is_error": result.is_error,
    }


def _id(id: str) -> str:
    # Calls that another vendor's model has made may have ids that this one refuses.
    return _OTHER.sub("_", id) or "_"


def _file(part: FilePart) -> dict[str, Any]:
    if part.family == "image":
        return {"type": "image", "source": _source(part)}
    named = {} if part.name is None else {"title": part.name}
    if part.media_type == "application/pdf":
        return {"type": "document", "source": _source(part), **named}
    if part.family == "text" and part.data is not None:
        text = part.data.decode("utf-8", "replace")
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source, **named}
    raise ModelRequestRefused(
        f"Anthropic takes images, PDF documents and plain texts, not {part.media_type}"
        + (" by address" if part.family == "text" else "")
    )


def _source(part: FilePart) -> dict[str, Any]:
    if part.url is not None:
        return {"type": "url", "url": part.url}
    return {"type": "base64", "media_type": part.media_type, "data": part.base64}


def anthropic_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """What the model is offered."""
    return [
        {
            "name": names.wire(tool.name),
            "description": tool.description,
            "input_schema": {"type": "object", **thaw(tool.parameters)},
        }
        for tool in tools
    ]


def anthropic_choice(choice: str, names: ToolNames) -> dict[str, Any]:
    """Which of them it may call."""
    match choice:
        case "auto" | "none":
            return {"type": choice}
        case "required":
            return {"type": "any"}
        case _:
            return {"type": "tool", "name": names.wire(choice)}
