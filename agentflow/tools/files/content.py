"""What is in a file, as text of a sane size."""

from __future__ import annotations

import os
from typing import Final, Literal

from agentflow.tools.files.path import PathRefused

__all__ = ["HardLinks", "text_in"]

HardLinks = Literal["refuse", "allow"]
"""What becomes of files that have further names, which may lie outside."""

_BLOCK: Final = 65_536


def text_in(file: int, path: str, *, largest: int, hard_links: HardLinks) -> str:
    """The text of an open file.

    Raises:
        PathRefused: It is larger than `largest` bytes, is no text in UTF-8, or has further names.
    """
    if hard_links == "refuse" and os.fstat(file).st_nlink > 1:
        raise PathRefused(
            f"{path!r} has further names (hard links), of which one may lie outside of the folder"
        )
    data = bytearray()
    while block := os.read(file, _BLOCK):
        data += block
        # Counted while it is read: a file may grow, and some have no size.
        if len(data) > largest:
            raise PathRefused(f"{path!r} has more than {largest} bytes, which is too much to read")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise PathRefused(f"{path!r} is no text in UTF-8")
    return text
