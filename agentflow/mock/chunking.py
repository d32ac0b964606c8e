"""Chunking: into which pieces a mock model cuts its answer. Deterministic: the same text is always cut alike."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Chunking"]

_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+|\s+")


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a text is cut.

    Args:
        by: `words` (each with the space before it), `chars`, or `whole` for one piece.
        size: How many words or characters a piece holds; with a seed, at most.
        seed: With a number, sizes vary from 1 to `size`, the same way each time.

    Raises:
        ValueError: The size is less than 1.
    """

    by: Literal["words", "chars", "whole"] = "words"
    size: int = 1
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"Chunking(size={self.size!r}): a piece holds at least 1")

    def cut(self, text: str) -> Iterator[str]:
        """The pieces of `text`; joined they are the text again."""
        if self.by == "whole":
            if text:
                yield text
            return
        atoms = list(text) if self.by == "chars" else _WORD.findall(text)
        sizes = None if self.seed is None else random.Random(f"{self.seed}:{text}")
        at = 0
        while at < len(atoms):
            size = self.size if sizes is None else sizes.randint(1, self.size)
            yield "".join(atoms[at : at + size])
            at += size
