"""Declarative workflows in files: which files hold one, what is in them, and where a JSON pointer leads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentflow.cli.diagnosis import diagnosis
from agentflow.cli.found import Found, problem
from agentflow.cli.importing import ImportFailed, Imports
from agentflow.errors import SpecError
from agentflow.graph.place import Place

__all__ = ["is_spec", "position", "spec_found"]


def spec_found(text: str, path: Path, imports: Imports) -> Found:
    """The workflow of a JSON or YAML file, or what is wrong with it; the functions it names are searched from its folder."""
    from agentflow.graph.spec import read_spec

    def read() -> Any:
        return read_spec(path, no_import=imports.forbidden)

    try:
        reading = read() if imports.forbidden else imports.beside(path, read)
    except ImportFailed as failed:
        if not isinstance(failed.error, SpecError):
            return diagnosis(text, failed)
        return _unreadable(text, path, failed.error)
    except SpecError as error:
        return _unreadable(text, path, error)
    return Found(text, reading.report, reading.workflow)


def _unreadable(text: str, path: Path, error: SpecError) -> Found:
    pointer = error.pointer or None
    place = Place(error.file or str(path), error.line, pointer)
    return problem(text, "AF003", error.message, error.hint, place)


def is_spec(path: Path) -> bool:
    """Whether a JSON or YAML file means to be a workflow, and is not some other data that lies beside one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    # Looked at before it is parsed: a folder may hold large files of data.
    if "nodes" not in text:
        return False
    try:
        keys = _json_keys(text) if path.suffix == ".json" else _yaml_keys(text)
    except (ValueError, RecursionError):
        # What is broken may have meant to be one; its reader will tell.
        return "workflow.schema.json" in text
    return {"id", "nodes"} <= keys


def _json_keys(text: str) -> set[str]:
    data = json.loads(text)
    return set(data) if isinstance(data, dict) else set()


def _yaml_keys(text: str) -> set[str]:
    root = _composed(text)
    return {str(key.value) for key, _ in root.value} if _is_mapping(root) else set()


def _composed(text: str) -> Any:
    """The tree of a YAML text, of which JSON is a part: it remembers where everything stands."""
    import yaml

    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _is_mapping(node: Any) -> bool:
    return getattr(node, "id", None) == "mapping"


def position(text: str, pointer: str, spoken: Sequence[str] = ()) -> tuple[int, int, int] | None:
    """Where a JSON pointer leads in a JSON or YAML text: line from 1, first column from 0, and the column behind the last.

    A pointer that leads to nothing ends at the last part that is there: what is missing is missing in that.

    Args:
        text: The text.
        pointer: The pointer.
        spoken: Names; the first of them that stands in the part pointed at is what is looked for.
    """
    try:
        here = _composed(text)
    except (ValueError, RecursionError):
        return None
    start = here
    for part in pointer.split("/")[1:]:
        found = _step(here, part.replace("~1", "/").replace("~0", "~"))
        if found is None:
            break
        start, here = found
    if here is None:
        return None
    words = list(_words(here))
    for name in spoken:
        for word in words:
            if word.value == name:
                return _extent(text, word, word)
    return _extent(text, start, here)


def _words(root: Any) -> Iterator[Any]:
    """The values below a node that are no containers, in order; each once, however many aliases lead to it."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if _is_mapping(node):
            waiting += [value for _, value in reversed(node.value)]
        elif isinstance(node.value, list):
            waiting += reversed(node.value)
        else:
            yield node


def _step(here: Any, part: str) -> tuple[Any, Any] | None:
    """Where the part below a node begins, at its key if it has one, and the part itself."""
    if _is_mapping(here):
        return next(((key, value) for key, value in here.value if key.value == part), None)
    if isinstance(here.value, list) and part.isdigit() and int(part) < len(here.value):
        value = here.value[int(part)]
        return value, value
    return None


def _extent(text: str, start: Any, value: Any) -> tuple[int, int, int]:
    first, last = start.start_mark, value.end_mark
    line = text.split("\n")[first.line]
    end = last.column if last.line == first.line else len(line.rstrip())
    return first.line + 1, first.column, max(end, first.column + 1)
