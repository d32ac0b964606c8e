"""An SQLite file as a backend: how it is opened, who holds a lock beside it, and what its errors mean."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from agentflow.errors import StoreError
from agentflow.stores.driver import Driver
from agentflow.stores.lock import DriverLock, driver_is_alive, lock_path, sweep_locks
from agentflow.stores.migrations import migrate
from agentflow.stores.session import Session, given_up_on_error
from agentflow.stores.sqlite_packing import add_packing
from agentflow.stores.sqlite_session import SqliteSession, is_busy, patiently
from agentflow.stores.statements import load_dialect

__all__ = ["Durability", "SqliteFile"]

Durability = Literal["full", "relaxed"]

_CHECKPOINT: Final = 1000
"""Pages in the write-ahead log above which they are carried over into the file."""

_LONG_LOG: Final = 8000
"""Pages in the log above which writing stops for a moment, so that it can begin anew from its start."""

_SHORT_WAIT: Final = 200
"""Milliseconds that such a moment may take."""

_HARMLESS: Final = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CONSTRAINT,
}
"""Errors after which the same connection goes on."""


class SqliteFile:
    """One SQLite file.

    Args:
        path: Where it is.
        machine: The name of this machine.
        durability: `relaxed`: a commit returns before the file system has it on disk.
        patience: Seconds to wait for another process that writes.

    Raises:
        ValueError: `durability` is neither of the two.

    Attributes:
        relaxed: Whether it is `relaxed`.
    """

    def __init__(
        self, path: Path, machine: str, *, durability: Durability, patience: float
    ) -> None:
        if durability not in get_args(Durability):
            raise ValueError(f"durability={durability!r}: there are 'full' and 'relaxed'")
        self.name = f"SQLite store {path}"
        # One place for all who mean the same file, also by another name: there they find each other's locks.
        self._path = path.resolve()
        self._dialect = load_dialect("sqlite")
        self._machine = machine
        self.relaxed = durability == "relaxed"
        self._patience = patience
        self.generation = 0
        self._lock: DriverLock | None = None
        self._reader: SqliteSession | None = None
        self._writer: SqliteSession | None = None
        self._tidier: sqlite3.Connection | None = None

    def connect(self) -> Session:
        """A session that writes, on tables of the newest version."""
        self._writer = None
        self._close_tidier()
        session = self._session()
        with given_up_on_error(session):
            session.begin()
            migrate(session, self._dialect, self.name)
            session.commit()
        self._writer = session
        return session

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that reads, and never waits for one that writes."""
        if self._reader is not None and self._reader.generation != self.generation:
            self.close()
        if self._reader is None:
            self._reader = self._session()
            self._reader.script(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
            self._reader.script("PRAGMA query_only = 1")
        try:
            yield self._reader
        except sqlite3.Error as error:
            if self.broken(error):
                self.generation += 1
                self.close()
            raise

    def _session(self) -> SqliteSession:
        return SqliteSession(
            self._connection(),
            self._dialect,
            patience=self._patience,
            generation=self.generation,
        )

    def _connection(self) -> sqlite3.Connection:
        """A connection that never waits by itself: its session does, where waiting harms nobody."""
        connection = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            (mode,) = patiently(
                lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), self._patience
            )
            if mode != "wal":
                raise StoreError(
                    f"{self.name} cannot be opened: its file system does not allow a write-ahead log"
                )
            connection.execute(f"PRAGMA synchronous = {'NORMAL' if self.relaxed else 'FULL'}")
            # Carrying the log over waits for the disk: that is for the writer's thread, when nobody waits for it.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            add_packing(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    # Who is alive.

    def hold(self, session: Session, driver: Driver) -> None:  # noqa: ARG002
        """Show everybody that a driver is alive, as long as this process is."""
        if self._lock is None:
            self._lock = DriverLock(lock_path(self._path, driver.key))

    def let_go(self) -> None:
        """Show that it is not any more."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._close_tidier()

    def dead(self, session: Session, drivers: Sequence[tuple[Driver, bool]]) -> set[int]:  # noqa: ARG002
        """Those whose lock file nobody holds; of drivers on other machines, those whose lease has run out."""
        return {driver.key for driver, lapsed in drivers if self._is_dead(driver, lapsed)}

    def _is_dead(self, driver: Driver, lapsed: bool) -> bool:
        if driver.machine != self._machine:
            return lapsed
        alive = driver_is_alive(lock_path(self._path, driver.key))
        return lapsed if alive is None else not alive

    def sweep(self, session: Session) -> None:
        """Remove lock files of drivers that nobody knows."""
        known = {row[0] for row in session.rows("drivers", {"now": 0})}
        sweep_locks(self._path, known)

    # The write-ahead log.

    @property
    def untidy(self) -> bool:
        """Whether the log has grown so that it is worth carrying over."""
        return self._writer is not None and self._writer.pages >= _CHECKPOINT

    def tidy(self, turn: threading.Lock) -> None:
        """Carry the log over into the file, on a connection of its own: whoever writes goes on meanwhile."""
        assert self._writer is not None
        self._writer.pages = 0
        try:
            if self._tidier is None:
                self._tidier = self._connection()
            _, log, _ = self._tidier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if log > _LONG_LOG:
                # It begins anew only when all of it was carried over, and somebody who never rests would prevent that.
                self._tidier.execute(f"PRAGMA busy_timeout = {_SHORT_WAIT}")
                with turn:
                    self._tidier.execute("PRAGMA wal_checkpoint(RESTART)")
        except (sqlite3.Error, StoreError):
            # It is only put off. Whoever writes is told what is wrong, if it concerns them.
            self._close_tidier()

    def _close_tidier(self) -> None:
        if self._tidier is not None:
            self._tidier.close()
            self._tidier = None

    # Errors.

    def broken(self, error: Exception) -> bool:
        """Whether a session is of no use after an error."""
        if not isinstance(error, sqlite3.Error):
            return False
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _HARMLESS

    def failure(self, doing: str, error: Exception) -> StoreError:
        """An error of SQLite in words: what, where, why."""
        failure = StoreError(f"{self.name} cannot be {doing}: {self._reason(error)}")
        failure.__cause__ = error
        return failure

    def _reason(self, error: Exception) -> str:
        if isinstance(error, sqlite3.Error):
            if is_busy(error):
                return f"another process has locked it for more than {self._patience:g} seconds"
            if not self._path.parent.is_dir():
                return f"there is no directory {self._path.parent}"
            if self._path.is_dir():
                return "it is a directory"
        return str(error)

    def close(self) -> None:
        """Give back what reads."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
