"""A PostgreSQL server as a backend: how it is reached, who holds a lock on it, and what its errors mean."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from agentflow.errors import StoreError
from agentflow.stores.driver import Driver, process_began
from agentflow.stores.migrations import migrate, newest
from agentflow.stores.postgresql_session import PostgresqlSession
from agentflow.stores.session import Session, given_up_on_error
from agentflow.stores.statements import load_dialect

__all__ = ["PostgresqlServer"]

_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "agentflow",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    # Milliseconds until a network that swallows everything is noticed.
    "tcp_user_timeout": 30_000,
}

_SETTINGS: Final = {
    # What is locked is read as it is then, not as it was before; whatever a server has as its default.
    "default_transaction_isolation": "read committed",
    # A driver that was stopped in the middle of writing to a run must not stop those who want that run from writing to others.
    "lock_timeout": "5s",
}


class PostgresqlServer:
    """One database of a PostgreSQL server.

    Args:
        conninfo: What libpq needs to reach it.
        machine: The name of this machine.

    Raises:
        ValueError: `conninfo` cannot be read.
    """

    untidy = False

    def __init__(self, conninfo: str, machine: str) -> None:
        try:
            given = conninfo_to_dict(conninfo)
        except psycopg.ProgrammingError as error:
            raise ValueError(f"no PostgreSQL database is named so: {error}".strip()) from error
        self._options = {**_DEFAULTS, **given}
        self._machine = machine
        self._dialect = load_dialect("postgresql")
        self.generation = 0
        self._idle: list[PostgresqlSession] = []
        self._state = threading.Lock()
        place = given.get("host") or "the local socket"
        port = f":{given['port']}" if "port" in given else ""
        self.name = f"PostgreSQL store {given.get('dbname') or 'of the user'} at {place}{port}"

    def connect(self) -> Session:
        """A session that writes, on tables of the newest version."""
        session = self._session()
        with given_up_on_error(session):
            if not newest(session, self._dialect, self.name):
                session.begin()
                session.rows("lock_migrations", {})
                migrate(session, self._dialect, self.name)
                session.commit()
        return session

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that reads, one of a few that are kept, so that each of the threads that read has one."""
        session = self._kept() or self._session()
        try:
            yield session
        except Exception as error:
            session.close()
            if self.broken(error):
                self.generation += 1
            raise
        with self._state:
            self._idle.append(session)

    def _kept(self) -> PostgresqlSession | None:
        while True:
            with self._state:
                if not self._idle:
                    return None
                session = self._idle.pop()
            if session.generation == self.generation:
                return session
            session.close()

    def _session(self) -> PostgresqlSession:
        connection = psycopg.connect(**self._options, autocommit=True)
        try:
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        return PostgresqlSession(connection, self._dialect, generation=self.generation)

    # Who is alive.

    def hold(self, session: Session, driver: Driver) -> None:
        """Show everybody that a driver is alive, as long as the session is."""
        session.rows("hold_driver", {"driver": driver.key})

    def let_go(self) -> None:
        """Nothing to do: the lock has gone with its session."""

    def dead(self, session: Session, drivers: Sequence[tuple[Driver, bool]]) -> set[int]:
        """Those on this machine whose process is gone; of the others, those whose lease has run out.

        A session that is lost says nothing: the network loses some, and a server that starts anew loses all.
        """
        if not drivers:
            return set()
        held = {key for (key,) in session.rows("held_drivers", {})}
        return {
            driver.key
            for driver, lapsed in drivers
            if self._is_dead(driver, lapsed, held=driver.key in held)
        }

    def _is_dead(self, driver: Driver, lapsed: bool, *, held: bool) -> bool:
        if driver.machine != self._machine:
            return lapsed
        if process_began(driver.pid) not in (driver.began, 0):
            return True
        # A process that lives may have forgotten its store; one that was only kept from saying so still has its session.
        return lapsed and not held

    def sweep(self, session: Session) -> None:
        """Nothing to do: everything is in the tables."""

    def tidy(self, turn: threading.Lock) -> None:
        """Nothing to do: the server does it."""

    # Errors.

    def broken(self, error: Exception) -> bool:
        """Whether a session is of no use after an error."""
        if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return False
        # Without a state it comes from this side of the connection; 08 and 57P tell that the other side is going away.
        return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))

    def failure(self, doing: str, error: Exception) -> StoreError:
        """An error of PostgreSQL in words: what, where, why."""
        failure = StoreError(f"{self.name} cannot be {doing}: {str(error).strip()}")
        failure.__cause__ = error
        return failure

    def close(self) -> None:
        """Give back what reads and is idle."""
        with self._state:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()
