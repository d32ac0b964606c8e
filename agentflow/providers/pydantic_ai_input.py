"""Messages as pydantic-ai takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_ai import messages as theirs
from pydantic_ai.tools import ToolDefinition

from agentflow.errors import ModelRequestRefused
from agentflow.graph.frozen import thaw
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, ReasoningPart, TextPart, ToolCall, ToolResult
from agentflow.messages.tool_spec import ToolSpec

__all__ = ["VENDOR", "pydantic_ai_messages", "pydantic_ai_tools"]

VENDOR: Final = "pydantic-ai"
"""The mark of what goes back through this bridge unread."""


def pydantic_ai_messages(
    messages: Sequence[Message], names: ToolNames
) -> list[theirs.ModelMessage]:
    """The conversation: what follows one another from our side is one request.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    sent: list[theirs.ModelMessage] = []
    for message in messages:
        if message.role == "assistant":
            sent.append(theirs.ModelResponse(parts=list(_said(message, names))))
            continue
        parts = list(_asked(message, names))
        last = sent[-1] if sent else None
        if isinstance(last, theirs.ModelRequest):
            last.parts = [*last.parts, *parts]
        else:
            sent.append(theirs.ModelRequest(parts=parts))
    return sent


def _asked(message: Message, names: ToolNames) -> Iterator[theirs.ModelRequestPart]:
    content: list[theirs.UserContent] = []
    for part in message.content:
        match part:
            case ToolResult():
                yield _result(part, names)
            case TextPart(text=text) if message.role == "system":
                yield theirs.SystemPromptPart(text)
            case TextPart(text=text):
                content.append(text)
            case FilePart():
                content.append(_file(part))
    if content:
        plain = content[0] if len(content) == 1 and isinstance(content[0], str) else content
        yield theirs.UserPromptPart(plain)


def _result(result: ToolResult, names: ToolNames) -> theirs.ToolReturnPart[Any]:
    content: Any = result.content
    if result.files:
        content = [result.content, *map(_file, result.files)]
    return theirs.ToolReturnPart(
        names.wire(result.name),
        content,
        result.call_id,
        outcome="failed" if result.is_error else "success",
    )


def _said(message: Message, names: ToolNames) -> Iterator[theirs.ModelResponsePart]:
    for part in message.content:
        match part:
            case TextPart(text=text):
                yield theirs.TextPart(text)
            case ToolCall():
                yield theirs.ToolCallPart(
                    names.wire(part.name),
                    thaw(part.arguments),
                    part.id,
                    **_vendor_data(part.vendor_data),
                )
            case ReasoningPart(text=text, vendor_data=Mapping() as data):
                if data.get("vendor") == VENDOR:
                    yield theirs.ThinkingPart(text, **_vendor_data(data))
            case FilePart():
                raise ModelRequestRefused("an answer that holds files cannot be sent back")
            case _:
                pass


def _vendor_data(data: Mapping[str, Any] | None) -> dict[str, Any]:
    if data is None or data.get("vendor") != VENDOR:
        return {}
    return {name: thaw(value) for name, value in data.items() if name != "vendor"}


def _file(part: FilePart) -> Any:
    if part.data is not None:
        return theirs.BinaryContent(part.data, media_type=part.media_type)
    url = part.url or ""
    match part.family:
        case "image":
            return theirs.ImageUrl(url, media_type=part.media_type)
        case "audio":
            return theirs.AudioUrl(url, media_type=part.media_type)
        case "video":
            return theirs.VideoUrl(url, media_type=part.media_type)
        case _:
            return theirs.DocumentUrl(url, media_type=part.media_type)


def pydantic_ai_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[ToolDefinition]:
    """What the model is offered."""
    return [
        ToolDefinition(
            name=names.wire(tool.name),
            description=tool.description,
            parameters_json_schema=thaw(tool.parameters),
            strict=False,
        )
        for tool in tools
    ]
