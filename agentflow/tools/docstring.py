"""Docstrings in Google's style: what a tool does, and what its parameters are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Docstring", "docstring_of"]

_SECTION = re.compile(
    r"(args|arguments|parameters|returns|return|raises|yields|yield|examples?|notes?|attributes|"
    r"see also|references|todo|warnings?):\s*",
    re.IGNORECASE,
)
_PARAMETERS = ("args", "arguments", "parameters")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says: the text before its first section, and its parameters by name."""

    description: str
    parameters: dict[str, str]


def docstring_of(function: object) -> Docstring:
    """The docstring of a function, taken apart; empty when it has none."""
    lines = (inspect.getdoc(function) or "").splitlines()
    before: list[str] = []
    parameters: dict[str, str] = {}
    section: str | None = None
    body: list[str] = []
    for line in [*lines, "end:"]:
        heading = _SECTION.fullmatch(line)
        # Every section ends the one before it; the line added here ends the last one.
        if heading or line == "end:":
            if section in _PARAMETERS:
                parameters.update(_entries(body))
            section, body = (heading.group(1).lower() if heading else None), []
        elif section is None:
            before.append(line)
        else:
            body.append(line)
    return Docstring("\n".join(before).strip(), parameters)


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    name, words = "", list[str]()
    for line in lines:
        entry = _ENTRY.fullmatch(line.strip()) if _indent(line) == indent else None
        if entry:
            if name:
                yield name, " ".join(words)
            name, words = entry.group(1), [entry.group(2)]
        elif line.strip():
            words.append(line.strip())
    if name:
        yield name, " ".join(words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
