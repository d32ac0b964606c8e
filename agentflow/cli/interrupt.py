"""Ctrl-C and SIGTERM as a cancel: the first asks the run to end, the second ends the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

from agentflow.run.signal import CancelSignal

__all__ = ["interrupts"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def interrupts(cancel: CancelSignal, told: Callable[[str], object]) -> Iterator[None]:
    """While the block lasts, the first signal cancels `cancel`, and the second ends the process by that signal.

    This holds although the event loop may be kept busy by a node that never waits.

    Args:
        cancel: What the first signal cancels.
        told: Is called with a line for the user when it does.
    """
    arrived: SimpleQueue[int | None] = SimpleQueue()

    def wait() -> None:
        # A thread of its own: a handler interrupts the main thread anywhere, also where it holds the lock that a
        # cancel needs. Putting something into this queue is all that is safe there.
        number = arrived.get()
        if number is not None:
            told("cancelling; once more ends the process at once")
            cancel.cancel(_name(number))

    def handle(number: int, _frame: FrameType | None) -> None:
        for other in _SIGNALS:
            signal.signal(other, _end)
        arrived.put(number)

    waiter = threading.Thread(target=wait, name="agentflow interrupts", daemon=True)
    waiter.start()
    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrived.put(None)
        waiter.join()


def _end(number: int, _frame: FrameType | None) -> None:
    """End the process as if nobody had handled the signal, and give the terminal its cursor back."""
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _name(number: int) -> str:
    return "interrupted by Ctrl-C" if number == signal.SIGINT else "asked to terminate (SIGTERM)"
