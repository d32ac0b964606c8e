"""Messages as Anthropic's Messages API takes them, and back: turns of user and assistant, made of blocks.

After https://docs.anthropic.com/en/api/messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any, Final

from agentflow.errors import ModelRequestRefused
from agentflow.graph.frozen import thaw
from agentflow.messages.formats.fields import Fields, objects_of
from agentflow.messages.formats.reader import Reader, Reading, blocks_of, file_at, file_of
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message, Provenance
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult

__all__ = ["VENDOR", "from_anthropic", "to_anthropic"]

VENDOR: Final = "anthropic"
"""The mark of what this vendor wants back unread."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def to_anthropic(
    messages: Iterable[Message], names: ToolNames | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The conversation as the `system` and the `messages` of a request.

    Leading instructions are the former. What follows one another from one side is one turn. Thinking goes back as the vendor
    has signed it, and no other reasoning does.

    Args:
        messages: The conversation; `sanitise` makes it one that is taken.
        names: The names of the offered tools; default: ids that the vendor would not take are changed.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    names = ToolNames(()) if names is None else names
    given = tuple(messages)
    leading = list(takewhile(lambda message: message.role == "system", given))
    turns: list[dict[str, Any]] = []
    for message in given[len(leading) :]:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.content for block in _blocks(part, message, names)]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return "\n\n".join(message.text for message in leading), turns


def _blocks(part: Part, message: Message, names: ToolNames) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart(text=text):
            # An empty block is refused; and what the host says in between has no place of its own.
            if text:
                said = f"<system>\n{text}\n</system>" if message.role == "system" else text
                yield {"type": "text", "text": said}
        case ReasoningPart(text=text, vendor_data=Mapping() as data):
            if data.get("vendor") == VENDOR:
                yield _thinking(text, data)
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


def _thinking(text: str, data: Mapping[str, Any]) -> dict[str, Any]:
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


def from_anthropic(
    messages: Sequence[Mapping[str, Any]],
    *,
    system: str | Sequence[Mapping[str, Any]] = "",
    names: ToolNames | None = None,
    provenance: Provenance | None = None,
    reading: Reading = "history",
) -> tuple[Message, ...]:
    """The messages of a conversation of Anthropic's.

    Results of tools stand in turns of the user there; here they are messages of their own.

    Args:
        messages: The `messages` of a request, as they are in its JSON.
        system: The `system` of the request, which becomes an instruction before them.
        names: The names of the offered tools, as they were sent.
        provenance: Where all of it comes from; default: as the roles tell, which is right only for what your own program has
            stored. What an outsider says that a model has said is `input`.
        reading: As a `history`, or as a vendor reads a `request`.

    Raises:
        ContractError: It is no such conversation, or holds what a `Message` cannot; the place is told.
    """
    reader = Reader(names, provenance, reading)
    found: list[Message] = []
    if system:
        given = Fields({"system": system if isinstance(system, str) else list(system)})
        found.append(reader.message("system", _parts(blocks_of(given, "system"), reader)))
    for turn in objects_of(messages, "messages"):
        found += _read(turn, reader)
    return tuple(found)


def _read(turn: Fields, reader: Reader) -> Iterator[Message]:
    match turn.text("role"):
        case "user":
            yield from _of_user(turn, reader)
        case "assistant":
            yield reader.message("assistant", _said(turn, reader))
        case "system":
            yield reader.message("system", _parts(blocks_of(turn, "content"), reader))
        case other:
            raise turn.wrong(f"{other!r} is none of 'user', 'assistant' and 'system'", "role")


def _of_user(turn: Fields, reader: Reader) -> Iterator[Message]:
    blocks = blocks_of(turn, "content")
    if not blocks:
        yield reader.message("user", [])
    for is_result, group in groupby(blocks, lambda block: block.text("type") == "tool_result"):
        if not is_result:
            yield reader.message("user", _parts(group, reader))
            continue
        for block in group:
            within = blocks_of(block, "content") if block.has("content") else []
            parts = _parts(within, reader)
            content = (part.text if isinstance(part, TextPart) else part for part in parts)
            is_error = block.flag("is_error")
            yield reader.result(block, "tool_use_id", content, is_error=is_error)


def _said(turn: Fields, reader: Reader) -> Iterator[Part]:
    for block in blocks_of(turn, "content"):
        match block.text("type"):
            case "text":
                if block.text("text"):
                    yield TextPart(block.text("text"))
            case "thinking":
                sealed = block.has("signature")
                data = {"vendor": VENDOR, "signature": block.data.get("signature")}
                yield ReasoningPart(block.text("thinking"), data if sealed else None)
            case "redacted_thinking":
                yield ReasoningPart("", {"vendor": VENDOR, "data": block.text("data")})
            case "tool_use":
                arguments = json.dumps(block.object("input").data, ensure_ascii=False)
                yield reader.call(block.text("id"), block.text("name"), arguments)
            case _:
                reader.unknown(block)


def _parts(blocks: Iterable[Fields], reader: Reader) -> Iterator[TextPart | FilePart]:
    for block in blocks:
        match block.text("type"):
            case "text":
                yield TextPart(block.text("text"))
            case "image" | "document":
                yield _read_file(block)
            case _:
                reader.unknown(block)


def _read_file(block: Fields) -> FilePart:
    source = block.object("source")
    called = block.text("title", "") or None
    match source.text("type"):
        case "text":
            return FilePart("text/plain", source.text("data").encode(), name=called)
        case "base64":
            return file_of(source, "data", source.text("media_type"), called=called)
        case "url" if block.text("type") == "image":
            return file_at(source, "url", "image/*", called=called)
        case "url":
            return FilePart("application/pdf", url=source.text("url"), name=called)
        case other:
            raise source.wrong(f"{other!r} is none of 'base64', 'url' and 'text'", "type")
