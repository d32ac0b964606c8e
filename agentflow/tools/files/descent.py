"""The way down into a folder: each step is taken from the open folder before it, and no link is followed.

So it does not matter what somebody makes of the names meanwhile: what was opened lies below the root, or nothing was opened.
A check of the path beforehand could not promise that (CWE-367).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentflow.tools.files.path import PathRefused

__all__ = ["Entry", "entries_of", "kind_of", "opened_file", "opened_folder", "step", "supported"]

Missing = Literal["refuse", "make"]

_NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# A pipe must not hold up whoever opens it; it is refused right after.
_FILE: Final[int] = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0)


def supported() -> bool:
    """Whether this system can open names relative to an open folder, without following links."""
    needed = {os.open, os.stat, os.mkdir, os.unlink, os.rename}
    return bool(_NO_LINK) and needed <= os.supports_dir_fd and os.scandir in os.supports_fd


@contextlib.contextmanager
def opened_folder(root: str, parts: Sequence[str], *, missing: Missing = "refuse") -> Iterator[int]:
    """A folder below the root, open.

    Args:
        root: Where the way begins.
        parts: The names on the way.
        missing: `make` makes the folders that are not there.

    Raises:
        PathRefused: There is a link on the way.
        OSError: There is no such folder, or it may not be opened.
    """
    try:
        folder = os.open(root, _FOLDER)
    except OSError as error:
        # Where the folder lies is nobody's business who only knows what is in it.
        raise _told(type(error), error.errno or errno.EIO, ".") from None
    try:
        for at, name in enumerate(parts):
            inner = step(folder, name, "/".join(parts[: at + 1]), missing=missing)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def step(folder: int, name: str, path: str, *, missing: Missing = "refuse") -> int:
    """A folder in an open folder, opened; whoever calls closes it. Raises what `opened_folder` raises."""
    for _ in range(2):
        try:
            return os.open(name, _FOLDER | _NO_LINK, dir_fd=folder)
        except FileNotFoundError:
            if missing != "make":
                raise _told(FileNotFoundError, errno.ENOENT, path) from None
            # Somebody else may have made it just now.
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
        except OSError as error:
            raise _refusal(error, folder, name, path) from error
    raise _told(FileNotFoundError, errno.ENOENT, path)


@contextlib.contextmanager
def opened_file(folder: int, name: str, path: str) -> Iterator[int]:
    """A file in an open folder, open for reading.

    Raises:
        PathRefused: It is a link, a folder, or something else that is no file.
        OSError: There is no such file, or it may not be opened.
    """
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise _told(FileNotFoundError, errno.ENOENT, path) from None
    except OSError as error:
        raise _refusal(error, folder, name, path) from error
    try:
        kind = kind_of(os.fstat(file).st_mode)
        if kind != "file":
            raise PathRefused(f"{path!r} is no file ({kind})")
        yield file
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder, by its own name; links are not followed."""

    name: str
    kind: str
    bytes: int


def entries_of(folder: int) -> list[Entry]:
    """What is in an open folder, by name; what goes away meanwhile is not there."""
    found: list[Entry] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                state = entry.stat(follow_symlinks=False)
                found.append(Entry(entry.name, kind_of(state.st_mode), state.st_size))
    return sorted(found, key=lambda entry: entry.name)


def kind_of(mode: int) -> str:
    """What a mode of `stat` says: `file`, `folder`, `link` or `other`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _refusal(error: OSError, folder: int, name: str, path: str) -> Exception:
    """What is told of a name that could not be opened: systems say of a link that it is a loop, or no folder."""
    kind = ""
    with contextlib.suppress(OSError):
        kind = kind_of(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    if kind == "link" or error.errno == errno.ELOOP:
        return PathRefused(f"{path!r} is a link; links are not followed")
    return _told(type(error), error.errno or errno.EIO, path)


def _told(kind: type[OSError], number: int, path: str) -> OSError:
    return kind(number, os.strerror(number), path)
