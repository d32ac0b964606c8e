"""Chunking: into which pieces a mock model cuts its answer. Deterministic: the same text is always cut alike."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["Chunking"]

_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+|\s+")
_By = Literal["words", "chars", "bytes", "whole"]


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a text, or a stream of bytes, is cut.

    Args:
        by: `words` (each with the space before it), `chars`, `bytes` of UTF-8, or `whole` for one piece. A text is never cut
            inside of a character; bytes are cut anywhere.
        size: How many words, characters or bytes a piece holds; with a seed, at most. A character of more bytes than that
            is a piece of its own.
        seed: With a number, sizes vary from 1 to `size`, the same way each time.

    Raises:
        ValueError: There is no such way to cut, or the size is less than 1.
    """

    by: _By = "words"
    size: int = 1
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.by not in get_args(_By):
            known = ", ".join(map(repr, get_args(_By)))
            raise ValueError(f"Chunking(by={self.by!r}): there are {known}")
        if self.size < 1:
            raise ValueError(f"Chunking(size={self.size!r}): a piece holds at least 1")

    def cut(self, text: str) -> Iterator[str]:
        """The pieces of `text`; joined they are the text again."""
        if self.by == "whole":
            if text:
                yield text
            return
        atoms = _WORD.findall(text) if self.by == "words" else list(text)
        sizes = self._sizes(text)
        at = 0
        while at < len(atoms):
            size = next(sizes)
            end = _filled(atoms, at, size) if self.by == "bytes" else at + size
            yield "".join(atoms[at:end])
            at = end

    def cut_bytes(self, data: bytes) -> Iterator[bytes]:
        """The blocks of `data`; joined they are the data again. A chunking by words or characters counts bytes here."""
        if self.by == "whole":
            if data:
                yield data
            return
        sizes = self._sizes(data.hex())
        at = 0
        while at < len(data):
            end = at + next(sizes)
            yield data[at:end]
            at = end

    def _sizes(self, what: str) -> Iterator[int]:
        if self.seed is None:
            while True:
                yield self.size
        varying = random.Random(f"{self.seed}:{what}")
        while True:
            yield varying.randint(1, self.size)


def _filled(atoms: list[str], at: int, size: int) -> int:
    """Where a piece ends that starts at `at` and holds at most `size` bytes, or one character."""
    end, held = at, 0
    while end < len(atoms):
        held += len(atoms[end].encode("utf-8", "surrogatepass"))
        if held > size and end > at:
            break
        end += 1
    return end
