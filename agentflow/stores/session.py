"""What the shared code of stores needs of a database: a session that runs named SQL, and who opens sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from agentflow.errors import StoreError
from agentflow.stores.driver import Driver

__all__ = ["Backend", "Busy", "Fence", "Params", "Row", "Session", "given_up_on_error"]

Params = Mapping[str, Any]
Row = tuple[Any, ...]
Fence = tuple[int, int, int]
"""A run as its driver sees it: its key, its epoch, and the number of its last entry."""


class Busy(Exception):
    """Another process writes just now, and the caller did not want to wait."""


class Session(Protocol):
    """One connection, used by one thread at a time. Statements are named; errors are the database driver's own."""

    generation: int
    """What its backend's generation was when it was made."""

    def begin(self, *, patient: bool = True) -> None:
        """Begin to write.

        Raises:
            Busy: Another process writes just now, and `patient` is off.
        """
        ...

    def commit(self) -> None:
        """Make it last."""
        ...

    def rollback(self) -> None:
        """Undo it, if that is still needed; never raises."""
        ...

    def rows(self, statement: str, params: Params) -> list[Row]:
        """The rows that a statement gives."""
        ...

    def change(self, statement: str, params: Params) -> int:
        """How many rows a statement changed."""
        ...

    def change_alone(self, statement: str, params: Params, *, patient: bool = True) -> int:
        """How many rows a statement changed that is a transaction of its own, and lasts when this returns.

        Raises:
            Busy: Another process writes just now, and `patient` is off.
        """
        ...

    def change_many(self, statement: str, params: Sequence[Params]) -> None:
        """Do a statement once for each of `params`."""
        ...

    def script(self, text: str) -> None:
        """Do one statement that has no name."""
        ...

    def several(self, values: Iterable[int] | Iterable[str]) -> Any:
        """Several values as one parameter."""
        ...

    def fences(self, driver: int, run_ids: Sequence[str]) -> dict[str, Fence]:
        """Those of the runs that `driver` drives; nobody claims them before the end of the transaction."""
        ...

    def close(self) -> None:
        """Give the connection back; never raises."""
        ...


@contextmanager
def given_up_on_error(session: Session) -> Iterator[None]:
    """Where a new session is made ready: one for which that fails is of no use, and closed."""
    try:
        yield
    except BaseException:
        session.rollback()
        session.close()
        raise


class Backend(Protocol):
    """One database: where it is, how it is reached, and how it knows who is alive."""

    name: str
    """What messages call it, without secrets."""

    generation: int
    """How often sessions were lost: one of an earlier generation is most likely lost with them."""

    def connect(self) -> Session:
        """A session that writes, on tables of the newest version."""
        ...

    def reading(self) -> AbstractContextManager[Session]:
        """A session that reads, and never waits for one that writes."""
        ...

    def hold(self, session: Session, driver: Driver) -> None:
        """Show everybody that a driver is alive, as long as this process is."""
        ...

    def let_go(self) -> None:
        """Show that it is not any more."""
        ...

    def dead(self, session: Session, drivers: Sequence[tuple[Driver, bool]]) -> set[int]:
        """The keys of those drivers that are dead; beside each driver is whether its lease has run out."""
        ...

    def sweep(self, session: Session) -> None:
        """Clear away what dead drivers left outside of the tables."""
        ...

    @property
    def untidy(self) -> bool:
        """Whether it wants to be tidied up when there is time."""
        ...

    def tidy(self, turn: threading.Lock) -> None:
        """Tidy up, in the writer's thread but without its turn; what others must not disturb is done in the turn."""
        ...

    def broken(self, error: Exception) -> bool:
        """Whether a session is of no use after an error."""
        ...

    def failure(self, doing: str, error: Exception) -> StoreError:
        """An error of the database in words: what, where, why."""
        ...

    def close(self) -> None:
        """Give back everything that reads."""
        ...
