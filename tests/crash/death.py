"""How a process dies, or nearly: at a write to its store, at an instant that nobody has chosen, or because the disk is full."""

from __future__ import annotations

import resource
import signal
import threading
from dataclasses import dataclass
from typing import Any, Final, Literal

import psycopg

from agentflow.stores.postgresql_session import PostgresqlSession
from agentflow.stores.sqlite_session import SqliteSession

__all__ = ["MOMENTS", "Death", "FullDisk", "Instant", "Moment", "Write", "Writes"]

Moment = Literal["before", "within", "after", "acknowledged"]
MOMENTS: Final[tuple[Moment, ...]] = ("before", "within", "after", "acknowledged")


@dataclass(frozen=True, slots=True)
class Write:
    """Killed at a write to the store; every transaction counts, also those of opening, claiming and closing.

    Args:
        at: Which one, from 1.
        moment: `before` it has begun, so that an effect was done and not recorded; `within` it, when everything was said but
            the commit; `after` the commit was asked for, and nobody has heard of it; or when it was `acknowledged`, and nothing
            else has happened.
        stop: Whether the process is only stopped, to go on when others have taken it for dead.
    """

    at: int
    moment: Moment
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Instant:
    """Killed at an instant, told as a fraction of the time that an undisturbed process took."""

    fraction: float


@dataclass(frozen=True, slots=True)
class FullDisk:
    """Not killed, but no file can grow beyond so many bytes."""

    bytes: int


Death = Write | Instant | FullDisk


class Writes:
    """Counts what this process writes to its store, and ends the process at one of them.

    Args:
        death: Where it ends, if that is at a write.
    """

    def __init__(self, death: Death | None) -> None:
        self.count = 0
        self._death = death if isinstance(death, Write) else None
        self._room = resource.getrlimit(resource.RLIMIT_FSIZE)
        if isinstance(death, FullDisk):
            resource.setrlimit(resource.RLIMIT_FSIZE, (death.bytes, self._room[1]))
        for session in (SqliteSession, PostgresqlSession):
            _watch_transactions(session, self)
            _watch_lone_statements(session, self)

    def is_next(self, moment: Moment) -> bool:
        """Whether the process is to end at this moment of the write that comes."""
        death = self._death
        return death is not None and (death.at, death.moment) == (self.count + 1, moment)

    def come(self, moment: Moment) -> None:
        """Tell that a write has come to this moment."""
        if self.is_next(moment):
            self.end()

    def done(self) -> None:
        """Tell that a write was done."""
        self.count += 1

    def acknowledged(self) -> None:
        """Tell that whoever asked for the last write knows that it was done."""
        death = self._death
        if death is not None and death.moment == "acknowledged" and death.at <= self.count:
            self.end()

    def give_room(self) -> None:
        """Let files grow again."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._room)

    def end(self) -> None:
        """Kill this process, or stop it."""
        death, self._death = self._death, None
        stopped = death is not None and death.stop
        # To this very thread, which would otherwise go on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP if stopped else signal.SIGKILL)


def _watch_transactions(session: Any, writes: Writes) -> None:
    begin, commit = session.begin, session.commit

    def begin_watched(self: Any, **options: Any) -> None:
        writes.come("before")
        begin(self, **options)

    def commit_watched(self: Any) -> None:
        writes.come("within")
        if writes.is_next("after"):
            _do_unheard(self, "COMMIT", {})
            writes.end()
        commit(self)
        writes.done()

    session.begin, session.commit = begin_watched, commit_watched


def _watch_lone_statements(session: Any, writes: Writes) -> None:
    """A lone append is a statement that commits by itself: there is nothing within."""
    change_alone = session.change_alone

    def change_watched(self: Any, statement: str, params: Any, **options: Any) -> int:
        writes.come("before")
        writes.come("within")
        if writes.is_next("after"):
            _do_unheard(self, self._statements[statement], params)
            writes.end()
        count: int = change_alone(self, statement, params, **options)
        if count:
            writes.done()
        return count

    session.change_alone = change_watched


def _do_unheard(session: Any, statement: Any, params: Any) -> None:
    """Do what commits, without waiting for a word of it where that comes from elsewhere."""
    if isinstance(session, SqliteSession):
        session._connection.execute(statement, params)
        return
    text = psycopg.ClientCursor(session._connection).mogrify(statement, params)
    session._connection.pgconn.send_query(text.encode())
    while session._connection.pgconn.flush():
        pass
