"""Documents: a mapping, or a JSON or YAML file, as an object of plain data of a sane size; or the reason why it is none."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow.errors import SpecError
from agentflow.graph.excerpt import excerpt
from agentflow.graph.spec.pointer import below
from agentflow.graph.spec.text import PARSERS, Flawed, kind_of

__all__ = ["Document", "document_of"]

DEEPEST = 64
"""How deep values may nest: far more than a workflow needs, and less than makes Python give up."""

_MOST_VALUES = 1_000_000
"""How many values the aliases of a YAML file may stand for: a few lines can stand for billions."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object of JSON data, and the file that it came from, if it came from one."""

    data: dict[str, Any]
    file: str | None = None


def document_of(
    source: Mapping[str, Any] | str | os.PathLike[str], *, wanted: str = "the parts of a workflow"
) -> Document:
    """The document of a mapping, or of the path of a `.json`, `.yaml` or `.yml` file.

    Args:
        source: The mapping, or the path.
        wanted: What the object is to hold, for the error if it is no object.

    Raises:
        SpecError: It cannot be read as an object of JSON data.
    """
    if isinstance(source, Mapping):
        _check(source, None)
        return Document({name: _plain(value) for name, value in source.items()})
    if not isinstance(source, str | os.PathLike):
        raise SpecError(
            f"{excerpt(source)} is no specification", hint="give a mapping, or the path of a file"
        )
    file = os.fspath(source)
    parse = PARSERS.get(Path(file).suffix.lower())
    if parse is None:
        raise SpecError(
            "the file's name does not tell its format",
            file=file,
            hint=f"name it with one of {', '.join(PARSERS)}",
        )
    try:
        data = parse(_text(file), file)
        _check(data, file)
    except RecursionError:
        raise _too_deep("", file) from None
    if not isinstance(data, dict):
        raise SpecError(f"the file holds {kind_of(data)}, not an object with {wanted}", file=file)
    return Document(data, file)


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"the file cannot be read: {error.strerror or error}", file=file) from error
    except ValueError as error:
        raise SpecError(f"the file is no text in UTF-8: {error}", file=file) from error


def _check(data: Any, file: str | None) -> None:
    """Refuse what is no tree of JSON data of a sane size: other values and keys, loops, depth, floods of aliases."""
    left = _MOST_VALUES
    waiting: list[tuple[Any, _Trail, int]] = [(data, None, 0)]
    while waiting:
        value, trail, depth = waiting.pop()
        left -= 1
        if left < 0:
            raise SpecError(f"it holds more than {_MOST_VALUES} values", file=file)
        if depth > DEEPEST:
            raise _too_deep(_pointer(trail), file)
        flaw = _flaw(value)
        if flaw:
            line = value.line if isinstance(value, Flawed) else None
            raise SpecError(flaw, pointer=_pointer(trail), file=file, line=line)
        items: Iterable[tuple[str | int, Any]] = ()
        if isinstance(value, Mapping):
            items = value.items()
        elif isinstance(value, list):
            items = enumerate(value)
        inside: list[tuple[Any, _Trail, int]] = [
            (item, (trail, key), depth + 1) for key, item in items
        ]
        waiting += reversed(inside)


_Trail = tuple[Any, str | int] | None
"""The way to a value, from its end: only for an error is a pointer made of it."""


def _pointer(trail: _Trail) -> str:
    parts: list[str | int] = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return below("", *reversed(parts))


def _flaw(value: Any) -> str:
    match value:
        case str():
            return ""
        case Flawed():
            return value.flaw
        case Mapping():
            wrong = next((name for name in value if not isinstance(name, str)), _FINE)
            return (
                "" if wrong is _FINE else f"the key {excerpt(wrong)} is {kind_of(wrong)}, not text"
            )
        case float() if not math.isfinite(value):
            return f"{value!r} is no number of JSON"
        case None | str() | int() | float() | list():
            return ""
    return f"{excerpt(value)} is {kind_of(value)}, which JSON does not have"


_FINE: Any = object()


def _plain(value: Any) -> Any:
    """A copy that shares nothing that can be changed with the caller's."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _too_deep(pointer: str, file: str | None) -> SpecError:
    return SpecError(
        f"values nest more than {DEEPEST} deep, or hold themselves",
        pointer=pointer,
        file=file,
        hint="give sub-workflows files of their own",
    )
