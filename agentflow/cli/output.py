"""The command's own answer, kept apart from everything that users' code prints.

A module may print while it is imported, a node while it runs, a thread at the end of the process. None of that may get
between the lines of an answer that another program reads. So the answer has a stream of its own, and whatever else goes to
stdout, below Python too, is sent to stderr.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["claimed_stdout", "columns_of", "is_terminal", "takes_colour"]


@contextmanager
def claimed_stdout() -> Iterator[TextIO]:
    """The stream for the answer; until the block ends, everything else that is printed goes to stderr."""
    stdout, stderr = sys.stdout, sys.stderr
    answer = _own_stream(stdout)
    if answer is not None:
        _send_to(stdout.fileno(), stderr)
    sys.stdout = stderr
    try:
        yield answer or stdout
    finally:
        stderr.flush()
        sys.stdout = stdout
        if answer is not None:
            answer.flush()
            os.dup2(answer.fileno(), stdout.fileno())
            answer.close()


def _own_stream(stdout: TextIO) -> TextIO | None:
    """A second stream to where stdout leads; `None` when it is no file of the system, as in a test."""
    try:
        handle = stdout.fileno()
    except (OSError, AttributeError):
        return None
    stdout.flush()
    return open(  # noqa: PTH123 - it lives as long as the command
        os.dup(handle),
        "w",
        encoding=stdout.encoding,
        # An answer must come through, whatever the terminal can show.
        errors="backslashreplace",
    )


def _send_to(handle: int, stream: TextIO) -> None:
    try:
        os.dup2(stream.fileno(), handle)
    except (OSError, AttributeError, io.UnsupportedOperation):
        # Nowhere to send it to: it is better lost than mixed with the answer.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), handle)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream, on something whose cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def takes_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal, or somebody insists on colours (`FORCE_COLOR`)."""
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def columns_of(stream: TextIO) -> int | None:
    """How many columns a terminal has; `None` for what has no width, such as a file."""
    return shutil.get_terminal_size().columns if stream.isatty() else None
