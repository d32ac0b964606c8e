"""A connection to PostgreSQL as a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from agentflow.stores.session import Fence, Params, Row
from agentflow.stores.statements import Dialect

__all__ = ["PostgresqlSession"]


class PostgresqlSession:
    """One connection, in autocommit: a transaction begins where somebody says so.

    Args:
        connection: In its own hands alone.
        dialect: The SQL.
        generation: That of the server's sessions.
    """

    def __init__(
        self, connection: psycopg.Connection[Row], dialect: Dialect, *, generation: int
    ) -> None:
        self.generation = generation
        self._connection = connection
        self._statements = {name: text.encode() for name, text in dialect.statements.items()}

    def begin(self, *, patient: bool = True) -> None:  # noqa: ARG002 - writers do not exclude each other
        self._connection.execute(b"BEGIN")

    def commit(self) -> None:
        self._connection.execute(b"COMMIT")

    def rollback(self) -> None:
        if self._connection.info.transaction_status in (
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        ):
            try:
                self._connection.execute(b"ROLLBACK")
            except psycopg.Error:
                # The connection is lost, and the transaction with it.
                return

    def rows(self, statement: str, params: Params) -> list[Row]:
        return self._connection.execute(self._statements[statement], params).fetchall()

    def change(self, statement: str, params: Params) -> int:
        return self._connection.execute(self._statements[statement], params).rowcount

    def change_alone(self, statement: str, params: Params, *, patient: bool = True) -> int:  # noqa: ARG002 - nobody to wait for
        return self.change(statement, params)

    def change_many(self, statement: str, params: Sequence[Params]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(self._statements[statement], params)

    def script(self, text: str) -> None:
        self._connection.execute(text.encode())

    def several(self, values: Iterable[int] | Iterable[str]) -> Any:
        return list(values)

    def fences(self, driver: int, run_ids: Sequence[str]) -> dict[str, Fence]:
        rows = self.rows("fences", {"driver": driver, "run_ids": list(run_ids)})
        return {run_id: (key, epoch, last) for run_id, key, epoch, last in rows}

    def close(self) -> None:
        self._connection.close()
