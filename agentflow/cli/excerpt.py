"""The lines of a file that a finding is about, and the part of them to underline."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agentflow.cli.spec_file import position
from agentflow.graph.findings import Finding

__all__ = ["Excerpt", "Mark", "Sources"]

_QUOTED = re.compile(r"'([^']*)'")
_KEYWORD = re.compile(r"\b([a-z_]+)=")


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of one line: its number from 1, and the columns from `start` up to `end`, from 0."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file from number `first` on, and the mark in the last of them."""

    first: int
    lines: tuple[str, ...]
    mark: Mark


class Sources:
    """The files that findings point at, each read once; `folder` is where relative paths start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _Source | None] = {}

    def excerpt(self, finding: Finding) -> Excerpt | None:
        """What to show of the file for a finding; `None` when the file or the place in it is not known."""
        place = finding.place
        source = None if place is None or place.file is None else self._file(place.file)
        if place is None or source is None:
            return None
        if place.pointer is not None:
            mark = source.pointed(place.pointer, finding)
            first = 0 if mark is None else mark.line
        else:
            first = place.line or 0
            mark = source.declared(first, finding) if 0 < first <= len(source.lines) else None
        if mark is None:
            return None
        return Excerpt(first, tuple(source.lines[first - 1 : mark.line]), mark)

    def _file(self, file: str) -> _Source | None:
        if file not in self._files:
            try:
                # As Python reads its own files, with the encoding that they declare.
                with tokenize.open(self._folder / file) as stream:
                    self._files[file] = _Source(stream.read())
            except (OSError, SyntaxError, ValueError):
                self._files[file] = None
        return self._files[file]


class _Source:
    """One file, and what is declared where in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    @cached_property
    def _tree(self) -> ast.Module | None:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return None

    @cached_property
    def _expressions(self) -> dict[int, list[ast.expr]]:
        """Expressions by the line on which they begin, the largest first."""
        found: dict[int, list[ast.expr]] = {}
        for step in ast.walk(self._tree) if self._tree else ():
            if isinstance(step, ast.expr):
                found.setdefault(step.lineno, []).append(step)
        return found

    @cached_property
    def _functions(self) -> dict[tuple[int, str], ast.FunctionDef | ast.AsyncFunctionDef]:
        """Functions by name and by the lines on which they and their decorators begin."""
        return {
            (start.lineno, step.name): step
            for step in (ast.walk(self._tree) if self._tree else ())
            if isinstance(step, ast.FunctionDef | ast.AsyncFunctionDef)
            for start in (step, *step.decorator_list)
        }

    def pointed(self, pointer: str, finding: Finding) -> Mark | None:
        """The name that the finding speaks of, at or below where a JSON pointer leads; or else all that it leads to."""
        spoken = [*_spoken(finding), *([finding.node] if finding.node else [])]
        found = position(self.text, pointer, spoken)
        return None if found is None else Mark(*found)

    def declared(self, line: int, finding: Finding) -> Mark:
        """The name that the finding speaks of, in what is declared on the line; or else all that is written on it."""
        declared = self._expressions.get(line, [])
        marks = (
            *(self._string(declared, name) for name in _spoken(finding)),
            *(self._keyword(declared, name) for name in _KEYWORD.findall(finding.message)),
            self._function(line, finding.node),
            self._string(declared, finding.node),
        )
        return next((mark for mark in marks if mark is not None), self._whole(line))

    def _string(self, declared: list[ast.expr], text: str | None) -> Mark | None:
        """The first string constant that is `text`, or a dotted path that begins with it."""
        for step in _parts(declared):
            if (
                isinstance(step, ast.Constant)
                and isinstance(step.value, str)
                and text in (step.value, step.value.partition(".")[0])
            ):
                return self._extent(step)
        return None

    def _keyword(self, declared: list[ast.expr], name: str) -> Mark | None:
        for step in _parts(declared):
            if isinstance(step, ast.keyword) and step.arg == name:
                return self._extent(step)
        return None

    def _function(self, line: int, name: str | None) -> Mark | None:
        """The name of the function that a decorator on the line makes a node of."""
        step = None if name is None else self._functions.get((line, name))
        if step is None:
            return None
        start = self.lines[step.lineno - 1].find(
            step.name, self._column(step.lineno, step.col_offset) + 3
        )
        return Mark(step.lineno, start, start + len(step.name))

    def _extent(self, step: ast.expr | ast.keyword) -> Mark:
        start = self._column(step.lineno, step.col_offset)
        if step.end_lineno != step.lineno or step.end_col_offset is None:
            return Mark(step.lineno, start, len(self.lines[step.lineno - 1].rstrip()))
        return Mark(step.lineno, start, self._column(step.lineno, step.end_col_offset))

    def _column(self, line: int, offset: int) -> int:
        # Python counts columns in UTF-8 bytes, people in characters.
        return len(self.lines[line - 1].encode()[:offset].decode(errors="replace"))

    def _whole(self, line: int) -> Mark:
        text = self.lines[line - 1]
        return Mark(line, len(text) - len(text.lstrip()), len(text.rstrip()))


def _parts(declared: list[ast.expr]) -> Iterator[ast.AST]:
    for expression in declared:
        yield from ast.walk(expression)


def _spoken(finding: Finding) -> list[str]:
    """The names in the message, but for those that only tell where it is."""
    own = (finding.node, finding.workflow)
    return [name for name in _QUOTED.findall(finding.message) if name not in own]
