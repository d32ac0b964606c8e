"""Messages as OpenAI's Responses API takes them, and back.

After https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from agentflow.errors import ModelRequestRefused
from agentflow.messages.formats.fields import Fields, objects_of
from agentflow.messages.formats.reader import Reader, Reading, blocks_of, file_at
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message, Provenance
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult

__all__ = ["SEALED", "VENDOR", "from_openai_responses", "to_openai_responses"]

VENDOR: Final = "openai"
"""The mark of what this vendor wants back unread."""

SEALED: Final = ("id", "summary", "encrypted_content")
"""What goes back of a reasoning item that is sealed."""


def to_openai_responses(
    messages: Iterable[Message], names: ToolNames | None = None
) -> list[dict[str, Any]]:
    """The conversation as the items of a request's `input`.

    Reasoning goes back as the vendor has sealed it, and no other does. Whether a result is an error has no place but its
    text.

    Args:
        messages: The conversation; `sanitise` makes it one that is taken.
        names: The names of the offered tools; default: ids that the vendor would not take are changed.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    names = ToolNames(()) if names is None else names
    return [item for message in messages for item in _items(message, names)]


def _items(message: Message, names: ToolNames) -> Iterator[dict[str, Any]]:
    if message.role == "assistant":
        for part in message.content:
            yield from _spoken(part, names)
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


def _spoken(part: Part, names: ToolNames) -> Iterator[dict[str, Any]]:
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


def from_openai_responses(
    input: str | Sequence[Mapping[str, Any]],
    *,
    after: Iterable[Message] = (),
    names: ToolNames | None = None,
    provenance: Provenance | None = None,
    reading: Reading = "history",
) -> tuple[Message, ...]:
    """The messages of a conversation of the Responses API.

    What an answer says, thinks and calls are items of their own there; here they are one message.

    Args:
        input: The `input` of a request, or its and the `output` of responses, as they are in their JSON.
        after: The conversation that it goes on from, where a request named the response before it.
        names: The names of the offered tools, as they were sent.
        provenance: Where all of it comes from; default: as the roles tell, which is right only for what your own program has
            stored. What an outsider says that a model has said is `input`.
        reading: As a `history`, or as a vendor reads a `request`.

    Raises:
        ContractError: It is no such conversation, or holds what a `Message` cannot; the place is told.
    """
    reader = Reader(names, provenance, reading, after)
    if isinstance(input, str):
        return (reader.message("user", [TextPart(input)]),)
    messages: list[Message] = []
    for is_answer, items in groupby(objects_of(input, "input"), _is_of_answer):
        if is_answer:
            parts = [part for item in items for part in _said(item, reader)]
            messages.append(reader.message("assistant", parts))
        else:
            messages += [_read(item, reader) for item in items]
    return tuple(messages)


def _kind(item: Fields) -> str:
    return item.text("type", "message")


def _is_of_answer(item: Fields) -> bool:
    if _kind(item) == "message":
        return item.text("role") == "assistant"
    return _kind(item) in ("reasoning", "function_call")


def _said(item: Fields, reader: Reader) -> Iterator[Part]:
    match _kind(item):
        case "reasoning":
            yield from _thought(item)
        case "function_call":
            yield reader.call(item.text("call_id"), item.text("name"), item.text("arguments", ""))
        case _:
            for part in _parts(item, "content", reader):
                if part != TextPart(""):
                    yield part


def _thought(item: Fields) -> Iterator[Part]:
    text = "".join(part.text("text") for part in item.objects("summary"))
    if item.has("encrypted_content"):
        kept = {key: value for key, value in item.data.items() if key in SEALED}
        yield ReasoningPart(text, {"vendor": VENDOR, **kept})
    elif text:
        # What is not sealed lies at the vendor, if it keeps it, and cannot be sent back.
        yield ReasoningPart(text)


def _read(item: Fields, reader: Reader) -> Message:
    match _kind(item):
        case "function_call_output":
            parts = _parts(item, "output", reader)
            content = (part.text if isinstance(part, TextPart) else part for part in parts)
            return reader.result(item, "call_id", content)
        case "message":
            match item.text("role"):
                case "system" | "developer":
                    return reader.message("system", _parts(item, "content", reader))
                case "user":
                    return reader.message("user", _parts(item, "content", reader))
                case other:
                    raise item.wrong(
                        f"{other!r} is none of 'system', 'developer', 'user' and 'assistant'",
                        "role",
                    )
        case other:
            raise item.wrong(f"items of the type {other!r} are not known here", "type")


def _parts(given: Fields, name: str, reader: Reader) -> Iterator[TextPart | FilePart]:
    for block in blocks_of(given, name):
        match block.text("type"):
            case "text" | "input_text" | "output_text":
                yield TextPart(block.text("text"))
            case "refusal":
                yield TextPart(block.text("refusal"))
            case "input_image":
                yield file_at(block, "image_url", "image/*")
            case "input_file":
                called = block.text("filename", "") or None
                lies = "file_url" if block.has("file_url") else "file_data"
                yield file_at(block, lies, "application/octet-stream", called=called)
            case _:
                reader.unknown(block)
