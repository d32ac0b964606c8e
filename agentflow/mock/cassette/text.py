"""Texts as a cassette holds them: one of several lines is a list of lines, which people and diffs can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Scrub", "kept", "lined", "unlined"]

Scrub = Callable[[str], str]
"""Takes out of a text what is not to be kept, or is never the same twice: secrets, dates."""


def lined(text: str) -> str | list[str]:
    """A text as it is kept."""
    lines = text.splitlines(keepends=True)
    return lines if len(lines) > 1 else text


def unlined(kept: str | list[str]) -> str:
    """The text that is kept."""
    return kept if isinstance(kept, str) else "".join(kept)


def kept(value: Any, scrub: Scrub) -> Any:
    """JSON data with all its texts scrubbed and as they are kept."""
    match value:
        case str():
            return lined(scrub(value))
        case list():
            return [kept(item, scrub) for item in value]
        case dict():
            return {name: kept(item, scrub) for name, item in value.items()}
        case _:
            return value
