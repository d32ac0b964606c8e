"""The content of a message in a body: a text, or a list of blocks, which are texts and files."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Iterator
from urllib.parse import urlsplit

from agentflow.messages.file_part import FilePart
from agentflow.mock.wire.fields import Fields

__all__ = ["blocks_of", "files_of", "text_of"]

_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Where blocks hold their text, by their types."""


def text_of(given: Fields, name: str) -> str:
    """The text of a field that holds a text or blocks."""
    return "".join(
        block.text(_TEXTS[block.text("type")])
        for block in blocks_of(given, name)
        if block.text("type") in _TEXTS
    )


def files_of(given: Fields, name: str) -> Iterator[FilePart]:
    """The files among the blocks of a field: images, documents, sounds."""
    for block in blocks_of(given, name):
        match block.text("type"):
            case "image_url":
                yield _at(block.object("image_url"), "url", "image/*")
            case "input_image":
                yield _at(block, "image_url", "image/*")
            case "input_audio":
                sound = block.object("input_audio")
                yield _held(sound, "data", f"audio/{sound.text('format')}")
            case "file":
                yield _file(block.object("file"))
            case "input_file":
                yield _file(block)
            case "image" | "document":
                yield _source(block)
            case _:
                pass


def blocks_of(given: Fields, name: str) -> list[Fields]:
    """The blocks of a field; a text is one block."""
    value = given.data.get(name)
    if isinstance(value, str):
        return [Fields({"type": "text", "text": value}, given.at(name))]
    if isinstance(value, list):
        return given.objects(name)
    raise given.wrong("it is neither a text nor a list of blocks", name)


def _file(given: Fields) -> FilePart:
    """A file as OpenAI has it; its name tells what it is."""
    if given.has("file_id"):
        raise given.wrong("the mock server keeps no files; send the file itself", "file_id")
    name = given.text("filename", "")
    kind = _guessed(name, "application/octet-stream")
    if given.has("file_url"):
        return _at(given, "file_url", kind, name)
    return _at(given, "file_data", kind, name)


def _source(block: Fields) -> FilePart:
    """A file as Anthropic has it."""
    source = block.object("source")
    name = block.text("title", "")
    match source.text("type"):
        case "base64":
            return _held(source, "data", source.text("media_type"), name)
        case "url":
            other = "image/*" if block.text("type") == "image" else "application/pdf"
            return _at(source, "url", other, name)
        case "text":
            return FilePart("text/plain", source.text("data").encode(), name=name or None)
        case other:
            raise source.wrong(f"{other!r} is none of 'base64', 'url' and 'text'", "type")


def _at(given: Fields, field: str, other: str, name: str = "") -> FilePart:
    """A file by its address, or by one that holds the content itself."""
    url = given.text(field)
    if not url.startswith("data:"):
        kind = _guessed(urlsplit(url).path, other)
        return FilePart(kind, url=url, name=name or None)
    head, _, data = url.removeprefix("data:").partition(",")
    kind = head.partition(";")[0] or other
    return _held(Fields({field: data}, given.place), field, kind, name)


def _held(given: Fields, field: str, kind: str, name: str = "") -> FilePart:
    try:
        data = base64.b64decode(given.text(field), validate=True)
        return FilePart(kind, data, name=name or None)
    except (binascii.Error, ValueError) as error:
        raise given.wrong(f"it holds no file: {error}", field) from error


def _guessed(name: str, other: str) -> str:
    return mimetypes.guess_type(name)[0] or other
