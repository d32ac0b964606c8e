"""Search: the lines below a folder in which a text stands, up to limits of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from agentflow.tools.files.content import HardLinks, text_in
from agentflow.tools.files.descent import entries_of, opened_file, opened_folder, step
from agentflow.tools.files.path import PathRefused, shown

__all__ = ["Found", "Match", "Search"]

_DEEPEST: Final = 40
_ENTRIES: Final = 20_000
_MATCHES: Final = 200
_LINE: Final = 400


@dataclass(frozen=True, slots=True)
class Match:
    """A line in which the text stands; long ones are cut."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found.

    Args:
        matches: The lines, file by file in the order of their names.
        files: How many files were read.
        whole: Whether all was looked at; not, if there are too many entries or matches, or folders too deep.
    """

    matches: tuple[Match, ...]
    files: int
    whole: bool


@dataclass(slots=True, kw_only=True)
class Search:
    """One search.

    Args:
        root: The folder that nothing leads out of.
        text: What to look for, letter by letter.
        names: Which files are read: a pattern of names, or of paths if it holds a `/`.
        largest: Files of more bytes are passed over.
        hard_links: Whether files with further names are passed over.
        stop: Asked at each entry; when it says so, the search ends.
    """

    root: str
    text: str
    names: str
    largest: int
    hard_links: HardLinks
    stop: Callable[[], bool]
    _entries: int = field(default=0, init=False)
    _files: int = field(default=0, init=False)
    _whole: bool = field(default=True, init=False)

    def below(self, parts: Sequence[str]) -> Found:
        """Look through a folder, and all folders in it."""
        matches: list[Match] = []
        with opened_folder(self.root, parts) as folder:
            for match in self._in_folder(folder, tuple(parts)):
                if len(matches) == _MATCHES:
                    self._whole = False
                    break
                matches.append(match)
        return Found(tuple(matches), self._files, self._whole)

    def _in_folder(self, folder: int, parts: tuple[str, ...]) -> Iterator[Match]:
        for entry in entries_of(folder):
            if self._entries == _ENTRIES or self.stop():
                self._whole = False
            if not self._whole:
                return
            self._entries += 1
            inner = (*parts, entry.name)
            if entry.kind == "file" and self._is_wanted(inner):
                yield from self._in_file(folder, inner)
            elif entry.kind == "folder":
                yield from self._inside(folder, inner)

    def _is_wanted(self, parts: tuple[str, ...]) -> bool:
        return fnmatchcase("/".join(parts) if "/" in self.names else parts[-1], self.names)

    def _inside(self, folder: int, parts: tuple[str, ...]) -> Iterator[Match]:
        if len(parts) > _DEEPEST:
            self._whole = False
            return
        try:
            inner = step(folder, parts[-1], "/".join(parts))
        except (OSError, PathRefused):
            # It has gone, has become a link, or may not be looked into.
            return
        try:
            yield from self._in_folder(inner, parts)
        finally:
            os.close(inner)

    def _in_file(self, folder: int, parts: tuple[str, ...]) -> Iterator[Match]:
        path = "/".join(parts)
        try:
            with opened_file(folder, parts[-1], path) as file:
                text = text_in(file, path, largest=self.largest, hard_links=self.hard_links)
        except (OSError, PathRefused):
            # Whoever searches wants what can be read; whoever reads the file is told what is the matter with it.
            return
        self._files += 1
        if self.text not in text:
            return
        for number, line in enumerate(text.split("\n"), 1):
            if self.text in line:
                yield Match(shown(path), number, line.strip("\r")[:_LINE])
