"""Text of others, such as of models and callers, so that a terminal shows it and does nothing else.

An escape sequence, or a character that turns the direction of writing, could make a person approve what they do not see.
"""

from __future__ import annotations

import unicodedata

__all__ = ["printable"]


def printable(text: str) -> str:
    """The text on one line, everything in it that is no letter, sign or space written as its escape."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    # Spaces of other widths are harmless.
    return " " if unicodedata.category(letter) == "Zs" else ascii(letter)[1:-1]
