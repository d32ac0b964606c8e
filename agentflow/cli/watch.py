"""Checking again whenever a file changes.

Each check is a process of its own: a module that was imported once cannot be imported anew without traces of the old one,
and one that never ends can be ended.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agentflow.cli.folder import files_below
from agentflow.cli.target import FileTarget, FolderTarget, SpecTarget, parse_target

__all__ = ["changes", "watch_targets"]

_PAUSE = 0.4
"""Seconds between two looks at the files."""

Stamps = dict[Path, tuple[int, int]]


def watch_targets(targets: list[str], check: list[str]) -> None:
    """Run the command `check` now and after every change of the targets' files, until Ctrl-C."""
    folders = sorted({_folder(target) for target in targets})
    try:
        for changed in changes(lambda: _stamps(folders), lambda: time.sleep(_PAUSE)):
            if sys.stdout.isatty():
                # A clean screen, so that what is on it is what is true now.
                sys.stdout.write("\x1b[2J\x1b[H")
            sys.stdout.flush()
            _checked([sys.executable, "-m", "agentflow", *check])
            told = ", ".join(map(str, changed[:3])) if changed else ""
            sys.stderr.write(
                f"\nwatching {', '.join(map(str, folders))}; Ctrl-C ends{told and f' ({told} changed)'}\n"
            )
    except KeyboardInterrupt:
        return


def _checked(command: list[str]) -> None:
    """Run a check to its end, or until Ctrl-C, which leaves nothing of it behind."""
    # In a session of its own: Ctrl-C is for this process, which ends the check; the check would show a traceback.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        process.wait()
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        raise


def changes(look: Callable[[], Stamps], pause: Callable[[], object]) -> Iterator[tuple[Path, ...]]:
    """The files that changed since the last time, whenever some have; at first none, at once."""
    before = look()
    yield ()
    while True:
        pause()
        now = look()
        changed = tuple(sorted({path for path, _ in before.items() ^ now.items()}))
        before = now
        if changed:
            yield changed


def _stamps(folders: list[Path]) -> Stamps:
    found: Stamps = {}
    for folder in folders:
        for path in files_below(folder):
            try:
                status = path.stat()
            except OSError:
                # Gone between being listed and being looked at; the next look tells.
                continue
            found[path] = status.st_mtime_ns, status.st_size
    return found


def _folder(text: str) -> Path:
    """The folder whose files decide what a target is; for a module the working folder."""
    match parse_target(text):
        case FolderTarget(path=path):
            return path
        case FileTarget(path=path) | SpecTarget(path=path):
            return path.parent
        case _:
            return Path()
