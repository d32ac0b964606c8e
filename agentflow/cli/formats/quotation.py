"""Lines of a file as a finding quotes them: numbered, cut to the width of the screen, with the words in question underlined."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from agentflow.cli.excerpt import Excerpt
from agentflow.cli.styled import Line, Role

__all__ = ["quotation"]

_MOST_LINES = 8
"""How many lines are quoted; of a longer declaration its head and the lines before the mark are enough."""


def quotation(shown: Excerpt, role: Role, *, columns: int | None = None) -> Iterator[Line]:
    """The lines of an excerpt, the marked one last.

    Args:
        shown: The excerpt.
        role: What the underlining means.
        columns: How wide a line may be; `None` for as wide as it is.
    """
    margin = len(str(shown.mark.line))
    room = None if columns is None else max(20, columns - margin - 3)
    yield ((" " * margin + " |", "quiet"),)
    for number, text in _chosen(shown):
        if number is None:
            yield (("...", "quiet"),)
        elif number != shown.mark.line:
            yield (f"{number:>{margin}} | ", "quiet"), (_cut(text, room), "plain")
    line, start, end = _marked(shown, room)
    yield (f"{shown.mark.line} | ", "quiet"), (line, "plain")
    before, marked = _cells(line[:start]), _cells(line[start:end])
    yield (" " * margin + " | ", "quiet"), (" " * before + "^" * max(1, marked), role)


def _chosen(shown: Excerpt) -> Iterator[tuple[int | None, str]]:
    """The numbered lines to quote, and `None` where some are left out."""
    every = [
        (number, text.expandtabs(4).rstrip())
        for number, text in enumerate(shown.lines, shown.first)
    ]
    if len(every) <= _MOST_LINES:
        yield from every
    else:
        yield every[0]
        yield None, ""
        yield from every[3 - _MOST_LINES :]


def _cut(text: str, room: int | None) -> str:
    return text if room is None or _cells(text) <= room else _first(text, room - 1) + "…"


def _marked(shown: Excerpt, room: int | None) -> tuple[str, int, int]:
    """The marked line as far as there is room for it, and the mark in it."""
    text = shown.lines[-1]
    start = len(text[: shown.mark.start].expandtabs(4))
    end = len(text[: shown.mark.end].expandtabs(4))
    text = text.expandtabs(4).rstrip()
    if room is not None and _cells(text[:end]) >= room:
        # What stands before the mark makes room for it, but for a few words that tell where it is.
        skipped = max(0, start - room // 3)
        text = "…" + text[skipped + 1 :]
        start, end = start - skipped, end - skipped
    line = _cut(text, room)
    return line, start, min(end, len(line))


def _first(text: str, cells: int) -> str:
    """As much of the beginning as `cells` columns show."""
    shown = 0
    for at, letter in enumerate(text):
        shown += _cells(letter)
        if shown > cells:
            return text[:at]
    return text


def _cells(text: str) -> int:
    """How many columns of a screen a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )
