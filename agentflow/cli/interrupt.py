"""Ctrl-C and SIGTERM as a cancel or a stop: the first asks the run to end, the second ends the process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

from agentflow.run.signal import CancelSignal

__all__ = ["interrupts"]

_REASONS: dict[int, str] = {
    signal.SIGINT: "interrupted by Ctrl-C",
    signal.SIGTERM: "asked to terminate (SIGTERM)",
}
_SHOW_CURSOR = b"\x1b[?25h"


@contextlib.contextmanager
def interrupts(
    cancel: CancelSignal, told: Callable[[str], object], *, stop: CancelSignal | None = None
) -> Iterator[None]:
    """While the block lasts, the first signal cancels `cancel`, and the second ends the process.

    Signals are seen by a thread of their own, as bytes in a socket: also while a node keeps the event loop and the main
    thread busy or blocked, where a handler in Python would wait for its turn.

    Args:
        cancel: What the first signal cancels.
        told: Is called with a line for the user when it does; from the thread.
        stop: What SIGTERM cancels instead, where a run can be left to go on later.
    """
    watching, written = socket.socketpair()
    written.setblocking(False)
    watcher = threading.Thread(
        target=_watch, args=(watching, cancel, stop, told), name="agentflow interrupts", daemon=True
    )
    watcher.start()
    wakeup = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    # Without a handler the system would act on its own; everything else is done by the thread.
    # What whoever started the process wants ignored, as a shell does for background jobs, stays so.
    heeded = [number for number in _REASONS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda *_: None) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        written.close()
        watcher.join()
        watching.close()


def _watch(
    watching: socket.socket,
    cancel: CancelSignal,
    stop: CancelSignal | None,
    told: Callable[[str], object],
) -> None:
    asked = False
    # The numbers of signals come as bytes, of others too; the end of the block closes the other side.
    while number := watching.recv(1):
        reason = _REASONS.get(number[0])
        if reason is None:
            continue
        if asked:
            _end(128 + number[0])
        asked = True
        stopping = stop is not None and number[0] == signal.SIGTERM
        doing = "stopping at the next record" if stopping else "cancelling"
        with contextlib.suppress(OSError, ValueError):
            # Nobody may be there to be told any more; the run is to end all the same.
            told(f"{doing}; once more ends the process at once")
        (stop if stop is not None and stopping else cancel).cancel(reason)


def _end(code: int) -> None:
    """End the process whatever it is doing, and give the terminal its cursor back."""
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(code)
