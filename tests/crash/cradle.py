"""Where processes come from: one that has loaded everything and does nothing, so that it can be forked in a moment.

Each life is a process of its own, with its own connections, locks and threads, and is killed as such. Run as
`python -m tests.crash.cradle` it reads one command a line and answers each with one line.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.crash.draw import draw
from tests.crash.order import Order

__all__ = ["Cradle", "Hung"]

ROOT: Final = Path(__file__).parents[2]
LONGEST: Final = 60.0
"""Seconds after which a process is taken to hang; it then tells where, and is killed."""


class Hung(Exception):
    """A process has come to no end."""


class Cradle:
    """The cradle, seen from outside: `with Cradle() as cradle`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.cradle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()

    def start(self, order: Order) -> int:
        """Have a process begin to live; gives its process id."""
        return int(self._ask("start", order.as_json()))

    def wait(self, pid: int, seconds: float | None = None) -> str:
        """Wait until a process has ended or was stopped: `exited 0`, `killed 9`, `stopped`.

        Args:
            pid: The process.
            seconds: After how many it is killed.

        Raises:
            Hung: It has done neither.
        """
        told = self._ask("wait", json.dumps([pid, seconds]))
        if told == "hung":
            raise Hung(f"process {pid} did not end in {LONGEST:g} s")
        return told

    def _ask(self, command: str, argument: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(command, argument, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()


def main() -> None:
    """Bear children, and wait for them, as commands come."""
    _load()
    gc.collect()
    gc.freeze()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "start":
            print(_born(Order.from_json(argument)), flush=True)
        else:
            print(_ended(*json.loads(argument)), flush=True)


def _load() -> None:
    """What every child needs, and what it would load by itself when it is needed, is loaded once."""
    for name in (
        "anyio._backends._asyncio",
        "anyio._backends._trio",
        "agentflow.graph.manifest",
        "agentflow.models.calls",
        "agentflow.run.sync_context",
        "agentflow.tools.calls",
        "jsonschema",
        "tests.crash.life",
    ):
        importlib.import_module(name)


def _born(order: Order) -> int:
    # Drawn, checked and compiled once for all lives of a seed.
    _ = draw(order.seed).workflow.plan
    child = os.fork()
    if child:
        return child
    from tests.crash.life import live

    try:
        _die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        faulthandler.register(signal.SIGUSR1)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        live(order)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _die_with_parent() -> None:
    """So that a process that was stopped does not stay for ever when the tests are broken off."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_PR_SET_PDEATHSIG: Final = 1
"""See prctl(2)."""


def _ended(pid: int, seconds: float | None) -> str:
    end = time.monotonic() + (LONGEST if seconds is None else seconds)
    while True:
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if found:
            break
        left = end - time.monotonic()
        if left > 0:
            signal.sigtimedwait({signal.SIGCHLD}, left)
            continue
        if seconds is None:
            os.kill(pid, signal.SIGUSR1)
            signal.sigtimedwait({signal.SIGCHLD}, 1)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if seconds is None:
            return "hung"
        break
    if os.WIFSTOPPED(status):
        return "stopped"
    if os.WIFSIGNALED(status):
        return f"killed {os.WTERMSIG(status)}"
    return f"exited {os.WEXITSTATUS(status)}"


if __name__ == "__main__":
    main()
