"""Commands as processes of their own: signalled while they run, or talked to over a terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cli.shell import PATIENCE, Project, interrupts_heeded

__all__ = ["on_terminal", "read_until", "started"]


@contextmanager
def started(project: Project, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command under way; it is killed if the test leaves it behind."""
    with (
        interrupts_heeded(),
        subprocess.Popen(
            project.command(*arguments),
            cwd=project.folder,
            env=project.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Out of the process group of the tests, as a shell would start it.
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], said: str) -> None:
    """Read what a command writes on stderr up to the line that holds `said`."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return
    raise AssertionError(f"it never said {said!r} but:\n{''.join(lines)}")


def on_terminal(
    project: Project,
    *arguments: str,
    replies: Sequence[tuple[str, str]] = (),
    **variables: str,
) -> tuple[int, str]:
    """A command whose three streams are one terminal of 24 lines and 80 columns: exit code, and all that it wrote.

    Args:
        project: Where it runs.
        arguments: The command.
        replies: What to wait for and what to type then, one after the other.
        variables: Further environment variables.
    """
    import fcntl
    import struct
    import termios

    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        with interrupts_heeded():
            process = subprocess.Popen(
                project.command(*arguments),
                cwd=project.folder,
                env={**project.variables(), "TERM": "xterm-256color", **variables},
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
                # The terminal is the one that the process belongs to, so that Ctrl-C typed there reaches it.
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - it takes no lock
            )
        os.close(slave)
        shown = _conversation(master, replies)
        return process.wait(timeout=PATIENCE), shown
    finally:
        os.close(master)


def _conversation(master: int, replies: Sequence[tuple[str, str]]) -> str:
    shown, waiting, since = b"", list(replies), 0
    while chunk := _read(master):
        shown += chunk
        while waiting and (at := shown.find(waiting[0][0].encode(), since)) >= 0:
            awaited, reply = waiting.pop(0)
            since = at + len(awaited.encode())
            os.write(master, reply.encode())
    text = shown.decode()
    assert not waiting, f"it never showed {waiting[0][0]!r} but:\n{text}"
    return text


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        # Linux tells so that the other side has gone.
        return b""
