"""A connection to an SQLite file as a session: it waits for other processes where waiting harms nobody."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from agentflow.stores.session import Busy, Fence, Params, Row
from agentflow.stores.statements import Dialect

__all__ = ["SqliteSession", "is_busy", "patiently"]

_PAUSE: Final = 0.001
"""Seconds between two tries to write while another process does: short, because it lets go only for moments."""

_PAGE: Final = 4096


def patiently(call: Callable[[], Any], seconds: float) -> Any:
    """What `call` gives, tried again for so many seconds as long as another process has locked the file."""
    end = time.monotonic() + seconds
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(_PAUSE * random.uniform(0.5, 1.5))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether an error only says that another process was quicker."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


class SqliteSession:
    """One connection.

    Args:
        connection: In its own hands alone, without transactions of its own.
        dialect: The SQL.
        patience: Seconds to wait for another process that writes.
        generation: That of the file's sessions.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        dialect: Dialect,
        *,
        patience: float,
        generation: int,
    ) -> None:
        self.generation = generation
        self._connection = connection
        self._statements = dialect.statements
        self._patience = patience
        self.pages = 0
        """About how many pages were written since somebody set this to 0."""

    def begin(self, *, patient: bool = True) -> None:
        self._lock("BEGIN IMMEDIATE", {}, patient=patient)

    def _lock(self, text: str, params: Params, *, patient: bool) -> sqlite3.Cursor:
        """Do the statement by which a transaction begins to write, for which it needs the lock of the file."""
        try:
            return self._connection.execute(text, params)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            if not patient:
                raise Busy from error
        cursor: sqlite3.Cursor = patiently(
            lambda: self._connection.execute(text, params), self._patience
        )
        return cursor

    def commit(self) -> None:
        self._connection.execute("COMMIT")
        self.pages += 2

    def rollback(self) -> None:
        if self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                # SQLite has undone it by itself; or the connection is of no use, which its next user finds out.
                return

    def rows(self, statement: str, params: Params) -> list[Row]:
        return self._connection.execute(self._statements[statement], params).fetchall()

    def change(self, statement: str, params: Params) -> int:
        self.pages += len(params.get("entries", "")) // (_PAGE // 2)
        return self._connection.execute(self._statements[statement], params).rowcount

    def change_alone(self, statement: str, params: Params, *, patient: bool = True) -> int:
        cursor = self._lock(self._statements[statement], params, patient=patient)
        self.pages += 2 + len(params.get("body", "")) // (_PAGE // 2)
        return cursor.rowcount

    def change_many(self, statement: str, params: Sequence[Params]) -> None:
        self._connection.executemany(self._statements[statement], params)
        self.pages += sum(len(row.get("body", "")) for row in params) // (_PAGE // 2)

    def script(self, text: str) -> None:
        self._connection.execute(text)

    def several(self, values: Iterable[int] | Iterable[str]) -> Any:
        return json.dumps(list(values))

    def fences(self, driver: int, run_ids: Sequence[str]) -> dict[str, Fence]:
        # The whole file is locked for others while this one writes.
        ((found,),) = self.rows("fences", {"driver": driver, "run_ids": self.several(run_ids)})
        return {run_id: (key, epoch, last) for run_id, key, epoch, last in json.loads(found)}

    def close(self) -> None:
        self._connection.close()
