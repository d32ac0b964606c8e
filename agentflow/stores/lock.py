"""A lock file per driver: the system lets go of it when the process ends, however it ends, so a dead driver is seen at once."""

from __future__ import annotations

import importlib
import os
import weakref
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:
    # A system without such locks; leases decide there.
    fcntl = None

__all__ = ["DriverLock", "driver_is_alive", "lock_path", "sweep_locks"]


class DriverLock:
    """Holds a driver's lock file until it is released or the process is gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._file)
                raise
        _held.add(self)

    def release(self) -> None:
        """Let go of it, and remove the file."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self.forget()

    def forget(self) -> None:
        """Close the file without a word: in a forked child, which drives nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_held: weakref.WeakSet[DriverLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_held):
        lock.forget()


if hasattr(os, "register_at_fork"):
    # A child that kept the file open would make a dead parent look alive.
    os.register_at_fork(after_in_child=_forget_all)


def lock_path(database: Path, key: int) -> Path:
    """Where the lock file of a driver is: beside the database, so that whoever finds the one finds the other."""
    return database.with_name(f"{database.name}-driver-{key:x}")


def driver_is_alive(path: Path) -> bool | None:
    """Whether somebody holds a lock file; `None` where that cannot be seen."""
    if fcntl is None:
        return None
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except PermissionError:
        return None
    try:
        # Shared, so that two who look at the same time do not take each other for the driver.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def sweep_locks(database: Path, known: set[int]) -> None:
    """Remove the lock files of dead drivers that the database does not know (any more)."""
    start = f"{database.name}-driver-"
    for path in database.parent.glob(f"{_literal(start)}*"):
        try:
            key = int(path.name.removeprefix(start), 16)
        except ValueError:
            continue
        if key not in known and driver_is_alive(path) is False:
            path.unlink(missing_ok=True)


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
