"""Halves of characters: some servers cut a text between the two UTF-16 units of one character.

Each half alone is no text: no encoding takes it. Joined they are the character; one that stays alone becomes U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from agentflow.messages.chunk import Chunk, ReasoningChunk, TextChunk

__all__ = ["HalfKeeper", "whole_text"]

_LONE: Final = "\ufffd"
_TEXTS: Final = (TextChunk, ReasoningChunk)


def whole_text(text: str) -> str:
    """The text with its halves joined, and those that have no other half replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class HalfKeeper:
    """Keeps the first half of a character until the second comes, so that every piece handed on is text."""

    __slots__ = ("_half", "_kind")

    def __init__(self) -> None:
        self._half = ""
        self._kind: type[TextChunk | ReasoningChunk] = TextChunk

    def take(self, chunk: Chunk) -> Sequence[Chunk]:
        """The chunk, or what of it can be handed on now; what waits comes before it."""
        if not self._half and (not isinstance(chunk, _TEXTS) or chunk.text.isascii()):
            return (chunk,)
        return tuple(self._joined(chunk))

    def _joined(self, chunk: Chunk) -> Iterator[Chunk]:
        if not isinstance(chunk, _TEXTS):
            yield from self.rest()
            yield chunk
            return
        if self._half and not isinstance(chunk, self._kind):
            yield from self.rest()
        text = self._half + chunk.text
        self._half = ""
        if text.isascii():
            yield chunk
            return
        if "\ud800" <= text[-1] <= "\udbff":
            self._half, self._kind, text = text[-1], type(chunk), text[:-1]
            if not text:
                return
        text = whole_text(text)
        yield chunk if text == chunk.text else replace(chunk, text=text)

    def rest(self) -> Iterator[Chunk]:
        """What still waits for its other half."""
        if self._half:
            self._half = ""
            yield self._kind(_LONE)
