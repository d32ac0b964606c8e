"""Blocks of content, both ways: as texts and files, and out of them."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from agentflow.mcp.sdk import types
from agentflow.messages.file_part import FilePart

__all__ = ["blocks_of", "texts_and_files"]

_UNNAMED = "file:///unnamed"


def texts_and_files(blocks: Iterable[types.ContentBlock]) -> tuple[list[str], list[FilePart]]:
    """What blocks say, and what they show.

    Raises:
        ValueError: A file is no base 64, or of no media type.
    """
    texts: list[str] = []
    files: list[FilePart] = []
    for block in blocks:
        match block:
            case types.TextContent(text=text):
                texts.append(text)
            case types.ImageContent() | types.AudioContent():
                files.append(FilePart(block.mime_type, _bytes(block.data)))
            case types.EmbeddedResource(resource=types.TextResourceContents() as found):
                texts.append(f"{found.uri}:\n{found.text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as found):
                kind = found.mime_type or "application/octet-stream"
                files.append(FilePart(kind, _bytes(found.blob), name=str(found.uri)))
            case types.ResourceLink():
                about = f" ({block.description})" if block.description else ""
                texts.append(f"{block.title or block.name}: {block.uri}{about}")
    return texts, files


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def blocks_of(text: str, files: Iterable[FilePart]) -> list[types.ContentBlock]:
    """A text and files as blocks; of an empty text there is none, unless it is all."""
    blocks = [_block(file) for file in files]
    return [types.TextContent(text=text), *blocks] if text or not blocks else blocks


def _block(file: FilePart) -> types.ContentBlock:
    name = file.name or _UNNAMED
    if file.url is not None:
        return types.ResourceLink(name=name, uri=file.url, mime_type=file.media_type)
    match file.family:
        case "image":
            return types.ImageContent(data=file.base64, mime_type=file.media_type)
        case "audio":
            return types.AudioContent(data=file.base64, mime_type=file.media_type)
    uri = name if ":" in name else f"file:///{name}"
    try:
        said = (file.data or b"").decode()
    except UnicodeDecodeError:
        blob = types.BlobResourceContents(uri=uri, mime_type=file.media_type, blob=file.base64)
        return types.EmbeddedResource(resource=blob)
    page = types.TextResourceContents(uri=uri, mime_type=file.media_type, text=said)
    return types.EmbeddedResource(resource=page)
