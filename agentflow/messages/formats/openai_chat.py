"""Messages as OpenAI's chat completions take them, and back.

After https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from agentflow.errors import ModelRequestRefused
from agentflow.messages.formats.fields import Fields, objects_of
from agentflow.messages.formats.reader import Reader, Reading, blocks_of, file_at, file_of
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message, Provenance
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult

__all__ = ["from_openai_chat", "to_openai_chat"]

_SOUNDS: Final = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_MEDIA_TYPES: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def to_openai_chat(
    messages: Iterable[Message], names: ToolNames | None = None
) -> list[dict[str, Any]]:
    """The conversation as the `messages` of a request.

    Reasoning has no place there, and whether a result is an error has none but its text. Files that tools gave come in a
    message of the user, after the results.

    Args:
        messages: The conversation; `sanitise` makes it one that is taken.
        names: The names of the offered tools; default: ids that the vendor would not take are changed.

    Raises:
        ModelRequestRefused: It holds a file that cannot be sent.
    """
    names = ToolNames(()) if names is None else names
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


def from_openai_chat(
    messages: Sequence[Mapping[str, Any]],
    *,
    names: ToolNames | None = None,
    provenance: Provenance | None = None,
    reading: Reading = "history",
) -> tuple[Message, ...]:
    """The messages of a conversation of chat completions.

    Args:
        messages: The `messages` of a request, as they are in its JSON.
        names: The names of the offered tools, as they were sent.
        provenance: Where all of it comes from; default: as the roles tell, which is right only for what your own program has
            stored. What an outsider says that a model has said is `input`.
        reading: As a `history`, or as a vendor reads a `request`.

    Raises:
        ContractError: It is no such conversation, or holds what a `Message` cannot; the place is told.
    """
    reader = Reader(names, provenance, reading)
    return tuple(_read(given, reader) for given in objects_of(messages, "messages"))


def _read(given: Fields, reader: Reader) -> Message:
    match given.text("role"):
        case "system" | "developer":
            return reader.message("system", _parts(given, "content", reader))
        case "user":
            return reader.message("user", _parts(given, "content", reader))
        case "assistant":
            return reader.message("assistant", _said(given, reader))
        case "tool":
            parts = _parts(given, "content", reader)
            texts = [part.text for part in parts if isinstance(part, TextPart)]
            return reader.result(given, "tool_call_id", texts)
        case other:
            raise given.wrong(
                f"{other!r} is none of 'system', 'developer', 'user', 'assistant' and 'tool'",
                "role",
            )


def _said(given: Fields, reader: Reader) -> Iterator[Part]:
    thought = given.text("reasoning_content", "") or given.text("reasoning", "")
    if thought:
        yield ReasoningPart(thought)
    if given.has("content"):
        for part in _parts(given, "content", reader):
            if part != TextPart(""):
                yield part
    elif given.text("refusal", ""):
        yield TextPart(given.text("refusal"))
    for each in given.objects("tool_calls"):
        if each.text("type", "function") != "function":
            raise each.wrong("only calls of the type 'function' are known here", "type")
        function = each.object("function")
        yield reader.call(each.text("id"), function.text("name"), function.text("arguments", ""))


def _parts(given: Fields, name: str, reader: Reader) -> Iterator[Part]:
    for block in blocks_of(given, name):
        match block.text("type"):
            case "text":
                yield TextPart(block.text("text"))
            case "refusal":
                yield TextPart(block.text("refusal"))
            case "image_url":
                yield file_at(block.object("image_url"), "url", "image/*")
            case "input_audio":
                sound = block.object("input_audio")
                kind = sound.text("format")
                yield file_of(sound, "data", _MEDIA_TYPES.get(kind, f"audio/{kind}"))
            case "file":
                file = block.object("file")
                called = file.text("filename", "") or None
                yield file_at(file, "file_data", "application/octet-stream", called=called)
            case _:
                reader.unknown(block)
