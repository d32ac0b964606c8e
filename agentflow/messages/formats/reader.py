"""The reader: what the formats of all vendors have in common when messages are made of them."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Iterable, Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

from agentflow.messages.file_part import FilePart
from agentflow.messages.formats.fields import Fields
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.messages.message import Message, Provenance, Role
from agentflow.messages.part import Part, ToolCall, ToolResult
from agentflow.messages.proposal import read_call

__all__ = ["Reader", "Reading", "blocks_of", "file_at", "file_of"]

Reading = Literal["history", "request"]
"""How a conversation is read: as a `history`, of which nothing may be lost, whatever shape it is in; or as a vendor reads a
`request`, which refuses a result without its call, and passes over blocks that mean nothing to it."""

_OWN: Final[Mapping[Role, Provenance]] = {
    "system": "contributed",
    "user": "input",
    "assistant": "model",
    "tool": "tool",
}


class Reader:
    """Makes the messages of one conversation, in its order.

    Args:
        names: The names of the offered tools, as they were sent.
        provenance: Where the messages come from; default: as their roles tell.
        reading: How it is read.
        after: What came before it.
    """

    __slots__ = ("_called", "_names", "_provenance", "_reading")

    def __init__(
        self,
        names: ToolNames | None,
        provenance: Provenance | None,
        reading: Reading,
        after: Iterable[Message] = (),
    ) -> None:
        self._names = ToolNames(()) if names is None else names
        self._provenance = provenance
        self._reading = reading
        # A result tells the id of its call alone.
        self._called = {call.id: call.name for message in after for call in message.tool_calls}

    def message(self, role: Role, parts: Iterable[Part]) -> Message:
        """A message of these parts."""
        return Message(role, tuple(parts), self._provenance or _OWN[role])

    def call(self, id: str, name: str, arguments: str) -> ToolCall:
        """A tool call, whose arguments are written as JSON; broken ones are kept and told."""
        own = self._called[id] = self._names.own(name)
        return read_call(id, own, arguments)

    def result(
        self,
        given: Fields,
        id_field: str,
        content: Iterable[str | FilePart],
        *,
        is_error: bool = False,
    ) -> Message:
        """The result of a call, made of texts and files.

        Raises:
            FormatError: It is read as a request, and no call before it has its id.
        """
        id = given.text(id_field)
        if id not in self._called and self._reading == "request":
            raise given.wrong(f"no tool call before it has the id {id!r}", id_field)
        parts = list(content)
        text = "".join(part for part in parts if isinstance(part, str))
        files = tuple(part for part in parts if isinstance(part, FilePart))
        name = self._called.get(id, "")
        return self.message("tool", [ToolResult(id, name, text, is_error, files)])

    def unknown(self, block: Fields) -> None:
        """Pass over a block of a type that is not known here.

        Raises:
            FormatError: It is read as a history, of which nothing may be lost.
        """
        if self._reading == "history":
            kind = block.text("type")
            raise block.wrong(f"blocks of the type {kind!r} have no place in a Message", "type")


def blocks_of(given: Fields, name: str) -> list[Fields]:
    """The blocks of a field; a text is one block of text.

    Raises:
        FormatError: It is neither.
    """
    value = given.data.get(name)
    if isinstance(value, str):
        return [Fields({"type": "text", "text": value}, given.at(name))]
    if isinstance(value, list):
        return given.objects(name)
    raise given.wrong("it is neither a text nor a list of blocks", name)


def file_at(given: Fields, name: str, other: str, *, called: str | None = None) -> FilePart:
    """The file behind an address, or in one that holds the content.

    Args:
        given: The object with the address.
        name: The field of it.
        other: The media type, where neither the name nor the address tells it.
        called: The name of the file.

    Raises:
        FormatError: It is a file that a vendor keeps, or the address holds what is no content.
    """
    if given.has("file_id"):
        raise given.wrong(
            "a file that a vendor keeps is not known here; give its content", "file_id"
        )
    url = given.text(name)
    if not url.startswith("data:"):
        guessed = mimetypes.guess_type(called or urlsplit(url).path)[0] or other
        # An image that is sent as a document must not become an image, nor the other way round.
        fits = _sort_of(guessed) == _sort_of(other)
        return FilePart(guessed if fits else other, url=url, name=called)
    head, _, content = url.removeprefix("data:").partition(",")
    media_type, _, coding = head.partition(";")
    if coding != "base64":
        raise given.wrong("it is a data URL without base 64", name)
    return file_of(Fields({name: content}, given.place), name, media_type or other, called=called)


def _sort_of(media_type: str) -> str:
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio") else "document"


def file_of(given: Fields, name: str, media_type: str, *, called: str | None = None) -> FilePart:
    """The file whose content a field holds in base 64.

    Raises:
        FormatError: It holds something else, or the media type is none.
    """
    try:
        data = base64.b64decode(given.text(name), validate=True)
        return FilePart(media_type, data, name=called)
    except (binascii.Error, ValueError) as error:
        raise given.wrong(f"it holds no file in base 64: {error}", name) from error
