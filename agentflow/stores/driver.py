"""Who drives runs: a store object in a process on a machine, and how others on the same machine see that it is dead."""

from __future__ import annotations

import os
import platform
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

__all__ = [
    "Driver",
    "ThreadTime",
    "Time",
    "kernel_id",
    "micros",
    "moment",
    "process_began",
    "process_space",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)


class Time(Protocol):
    """The part of a clock that threads can use."""

    def now(self) -> datetime:
        """The time of day, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class ThreadTime:
    """The machine's own time, asked outside of any loop."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def micros(moment: datetime) -> int:
    """A time as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICRO


def moment(micros: int) -> datetime:
    """The time of so many microseconds since 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True, slots=True)
class Driver:
    """One store object that may drive runs.

    Args:
        key: A random number of 62 bits that nobody else has.
        machine: The machine as far as processes on it can see each other.
        pid: The process.
        began: When the process began, in the machine's own count: a process id is used again.
    """

    key: int
    machine: str
    pid: int
    began: int

    @classmethod
    def here(cls, machine: str) -> Driver:
        """A new driver in this process."""
        return cls(secrets.randbits(62), machine, os.getpid(), process_began(os.getpid()) or 0)


def kernel_id() -> str:
    """The running system, the same for all of its processes and another one after it has started anew."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


def process_space() -> str:
    """The set of processes that this one sees: a container has its own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def process_began(pid: int) -> int | None:
    """When a process began, 0 where that cannot be known; `None` if there is no such process, or nothing but its remains."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _seen(pid)
    # What follows the name, which may hold anything.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def _seen(pid: int) -> int | None:
    if Path("/proc/self").exists():
        return None
    if os.name != "posix":
        # Elsewhere, a signal of number 0 is no question.
        return 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return 0
    return 0
