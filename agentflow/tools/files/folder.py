"""The folder: reading, writing, listing and searching below one place of this machine, and nowhere else."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentflow.tools.files.content import HardLinks, text_in
from agentflow.tools.files.descent import entries_of, kind_of, opened_file, opened_folder, supported
from agentflow.tools.files.path import PathRefused, parts_of, shown
from agentflow.tools.files.search import Found, Search

__all__ = ["FileText", "Folder", "Listed", "Listing", "Written"]

_ENTRIES: Final = 1_000
_NEW: Final[int] = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a folder: `kind` is `file`, `folder`, `link` or `other`; `bytes` is the size of a file."""

    name: str
    kind: str
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in a folder, by name; `whole` is false if there is more."""

    entries: tuple[Listed, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class FileText:
    """Lines of a file, from `first_line` to `last_line` of `lines`; `whole_line` is false if the last of them is cut."""

    text: str
    first_line: int
    last_line: int
    lines: int
    whole_line: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written, and whether there was none before."""

    path: str
    bytes: int
    created: bool


class Folder:
    """A folder of this machine. Whatever path is given, nothing outside of it is read, written or told of.

    Paths are relative, with `/`. Absolute ones and `..` are refused. Links are not followed, wherever they lead, also if
    somebody puts one in place of a folder while it is being opened.

    Everything here blocks; the tools of `file_tools` do it in threads.

    Args:
        root: The folder. If it is a link itself, that is followed once, now.
        largest: How many bytes a file may have that is read or written.
        most: How many characters of a file are given at once.
        hard_links: Whether files are read that have further names, which may lie outside.

    Raises:
        NotADirectoryError: There is no such folder.
        NotImplementedError: This system cannot open files relative to a folder, as on Windows.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        largest: int = 5_000_000,
        most: int = 50_000,
        hard_links: HardLinks = "refuse",
    ) -> None:
        if not supported():
            raise NotImplementedError(
                "files cannot be confined to a folder here: this system opens no names relative to a folder"
            )
        if largest < 1 or most < 1:
            raise ValueError(f"Folder(largest={largest}, most={most}): both are at least 1")
        if hard_links not in ("refuse", "allow"):
            raise ValueError(f"Folder(hard_links={hard_links!r}): it is 'refuse' or 'allow'")
        place = Path(root).resolve()
        # Of an empty text `Path` makes the current folder, which somebody whose setting is missing does not mean.
        if not os.fspath(root) or not place.is_dir():
            raise NotADirectoryError(f"{str(root)!r} is no folder")
        self._root = str(place)
        self._largest = largest
        self._most = most
        self._hard_links: HardLinks = hard_links

    def list(self, path: str = ".") -> Listing:
        """What is in a folder.

        Raises:
            PathRefused: The path leads out, or over a link.
            OSError: There is no such folder.
        """
        with opened_folder(self._root, parts_of(path)) as folder:
            found = entries_of(folder)
        listed = (
            Listed(shown(each.name), each.kind, each.bytes if each.kind == "file" else None)
            for each in found[:_ENTRIES]
        )
        return Listing(tuple(listed), whole=len(found) <= _ENTRIES)

    def read(self, path: str, *, first_line: int = 1, lines: int | None = None) -> FileText:
        """Lines of a text file.

        Args:
            path: The file.
            first_line: The first of them, from 1.
            lines: How many; default: as many as are given at once.

        Raises:
            PathRefused: The path leads out, or over a link, or to no file; or the file is no text, too large, or has further
                names.
            OSError: There is no such file.
            ValueError: There are no such lines.
        """
        *way, name = self._name(path)
        with (
            opened_folder(self._root, way) as folder,
            opened_file(folder, name, path) as file,
        ):
            text = text_in(file, path, largest=self._largest, hard_links=self._hard_links)
        every = text.removesuffix("\n").split("\n")
        if first_line < 1 or first_line > len(every) or (lines is not None and lines < 1):
            raise ValueError(
                f"{path!r} has lines 1 to {len(every)}; first_line={first_line} and lines={lines} name none of them"
            )
        wanted = every[first_line - 1 :][:lines]
        given = _that_fit(wanted, self._most)
        joined = "\n".join(given)
        return FileText(
            joined[: self._most],
            first_line,
            first_line + len(given) - 1,
            len(every),
            whole_line=len(joined) <= self._most,
        )

    def write(self, path: str, text: str) -> Written:
        """Write a text file, in one step: it is there whole, or as it was before. Missing folders are made.

        What lay there is replaced and not written into, so further names of it keep what they had.

        Raises:
            PathRefused: The path leads out, or over a link, or to something that is no file; or the text is too large.
            OSError: It cannot be written.
        """
        *way, name = self._name(path)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise PathRefused(f"the text for {path!r} cannot be written as UTF-8") from error
        if len(data) > self._largest:
            raise PathRefused(
                f"the text for {path!r} has {len(data)} bytes; at most {self._largest} are written"
            )
        with opened_folder(self._root, way, missing="make") as folder:
            mode = _mode_of(folder, name, path)
            _replace(folder, name, data, mode)
        return Written("/".join((*way, name)), len(data), created=mode is None)

    def search(
        self,
        text: str,
        path: str = ".",
        *,
        names: str = "*",
        stop: Callable[[], bool] = lambda: False,
    ) -> Found:
        """The lines in which a text stands, in all files below a folder that can be read.

        Args:
            text: What to look for, letter by letter, within a line.
            path: The folder.
            names: A pattern for the names of files, such as `*.py`; for their paths, if it holds a `/`.
            stop: Asked before each file; when it says so, the search ends.

        Raises:
            PathRefused: The path leads out, or over a link.
            OSError: There is no such folder.
            ValueError: The text is empty, or more than a line.
        """
        if not text or "\n" in text:
            raise ValueError("search for a text that stands in a line")
        search = Search(
            root=self._root,
            text=text,
            names=names,
            largest=self._largest,
            hard_links=self._hard_links,
            stop=stop,
        )
        return search.below(parts_of(path))

    def _name(self, path: str) -> tuple[str, ...]:
        parts = parts_of(path)
        if not parts or path.endswith("/"):
            raise PathRefused(f"{path!r} is the path of a folder, not of a file")
        return parts


def _that_fit(lines: list[str], most: int) -> list[str]:
    """As many of the lines as have room, but at least one."""
    room = most
    for at, line in enumerate(lines):
        room -= len(line) + (at > 0)
        if room < 0:
            return lines[: max(at, 1)]
    return lines


def _mode_of(folder: int, name: str, path: str) -> int | None:
    """The rights of the file that is to be replaced; `None` where there is none."""
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    kind = kind_of(state.st_mode)
    if kind != "file":
        raise PathRefused(f"{path!r} is no file ({kind}), and is not replaced")
    return state.st_mode & 0o777


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    made = f".{secrets.token_hex(8)}.part"
    file = os.open(made, _NEW, 0o666, dir_fd=folder)
    try:
        try:
            if mode is not None:
                os.fchmod(file, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
        finally:
            os.close(file)
        # A link that was put there meanwhile is replaced itself: nothing is written through it.
        os.replace(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made, dir_fd=folder)
        raise
