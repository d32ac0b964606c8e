"""Processes that share nothing with those before them: an interpreter each, with hashes of its own. Slow to be born."""

from __future__ import annotations

import subprocess
import sys

from tests.crash.cradle import LONGEST, ROOT, Hung
from tests.crash.order import Order

__all__ = ["Interpreters"]


class Interpreters:
    """In place of a cradle."""

    def __init__(self) -> None:
        self._born: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, order: Order) -> int:
        """Have a process begin to live; gives its process id."""
        command = [sys.executable, "-m", "tests.crash.life", order.as_json()]
        process = subprocess.Popen(command, cwd=ROOT)
        self._born[process.pid] = process
        return process.pid

    def wait(self, pid: int, seconds: float | None = None) -> str:
        """Wait until a process has ended, or for so many seconds, after which it is killed; see `Cradle.wait`."""
        with self._born.pop(pid) as process:
            try:
                process.wait(LONGEST if seconds is None else seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                if seconds is None:
                    raise Hung(f"process {pid} did not end in {LONGEST:g} s") from None
        code = process.returncode
        return f"exited {code}" if code >= 0 else f"killed {-code}"
