"""Vectors in SQLite, by the extension sqlite-vec. Needs `pip install 'agentflow[recall]'`."""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import anyio

from agentflow.agents.memory.ports import Match
from agentflow.agents.memory.turn import Thread
from agentflow.errors import StoreError
from agentflow.stores.worker import Job, Worker

__all__ = ["SqliteVectors"]

_VERSION: Final = 1
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS agentflow_vectors (
    model TEXT NOT NULL,
    resource TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, resource, thread, turn)
) WITHOUT ROWID
"""
_ADD: Final = """
INSERT INTO agentflow_vectors (model, resource, thread, turn, vector)
VALUES (:model, :resource, :thread, :turn, :vector)
ON CONFLICT (model, resource, thread, turn) DO UPDATE SET vector = excluded.vector
"""
_LENGTH: Final = "SELECT length(vector) / 4 FROM agentflow_vectors WHERE model = :model LIMIT 1"
# A vector of nothing but zeros has no direction, and so nothing in common with any.
_NEAREST: Final = """
SELECT turn, coalesce(1 - vec_distance_cosine(vector, :vector), 0) AS similarity
FROM agentflow_vectors
WHERE model = :model AND resource = :resource AND (:thread IS NULL OR thread = :thread)
ORDER BY similarity DESC, turn LIMIT :limit
"""
# Below a conversation are those that sub-agents have had in it.
_FORGET: Final = """
DELETE FROM agentflow_vectors
WHERE resource = :resource AND (:thread IS NULL OR thread = :thread OR substr(thread, 1, length(:thread) + 1) = :thread || '/')
"""
_CLOSE: Final = object()
"""The work of giving back the connection."""


class SqliteVectors:
    """A `VectorIndex` in an SQLite file of its own, which is made if it is not there. It compares with every vector of the resource.

    Where Python's own SQLite loads no extensions, that of the package `pysqlite3` is used. Because two libraries of SQLite in one
    process do not see each other's locks, nobody else should have the file.

    It opens itself when it is first used, and is closed by whoever has made it: `async with …` or `await vectors.close()`.

    Args:
        path: The file.
        patience: Seconds to wait for another process that writes, before it is an error.

    Raises:
        StoreError: sqlite-vec is not installed, or no SQLite is there that can load it.
    """

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 10.0) -> None:
        self._path = Path(path)
        self._patience = patience
        self._extension, self._library = _extension(), _library()
        self._connection: Any = None
        self._state = threading.Lock()
        self._worker: Worker | None = None

    async def add(
        self, thread: Thread, turn_id: str, vector: Sequence[float], *, model: str
    ) -> None:
        row = {
            "model": model,
            "resource": thread.resource,
            "thread": thread.id,
            "turn": turn_id,
            "vector": self._extension.serialize_float32(list(vector)),
        }

        def write(connection: Any) -> None:
            # With the lock first, so that nobody else adds a vector of another length in between.
            connection.execute("BEGIN IMMEDIATE")
            _check_length(connection, model, len(vector))
            connection.execute(_ADD, row)
            connection.execute("COMMIT")

        await self._do(write)

    async def search(
        self,
        resource: str,
        vector: Sequence[float],
        *,
        model: str,
        limit: int,
        thread: str | None = None,
    ) -> Sequence[Match]:
        wanted = {
            "model": model,
            "resource": resource,
            "thread": thread,
            "limit": limit,
            "vector": self._extension.serialize_float32(list(vector)),
        }

        def read(connection: Any) -> list[Match]:
            _check_length(connection, model, len(vector))
            return [Match(turn, near) for turn, near in connection.execute(_NEAREST, wanted)]

        found: list[Match] = await self._do(read)
        return found

    async def forget(self, resource: str, thread: str | None = None) -> None:
        of = {"resource": resource, "thread": thread}

        def write(connection: Any) -> None:
            connection.execute(_FORGET, of)

        await self._do(write)

    async def close(self) -> None:
        """Give back the connection; it opens itself again when it is used again."""
        with self._state:
            worker, self._worker = self._worker, None
        if worker is not None:
            with anyio.CancelScope(shield=True):
                await worker.do(_CLOSE)
            worker.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _do(self, work: Callable[[Any], Any]) -> Any:
        with self._state:
            if self._worker is None:
                self._worker = Worker(f"vectors in {self._path}", self._perform)
            worker = self._worker
        return await worker.finish(work)

    # In the thread.

    def _perform(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            try:
                if job.work is _CLOSE:
                    self._leave()
                else:
                    job.answer = self._done(job.work)
            except (ValueError, StoreError) as error:
                job.error = error
            except Exception as error:
                job.error = StoreError(f"the vectors in {self._path} cannot be used: {error}")
                job.error.__cause__ = error

    def _done(self, work: Callable[[Any], Any]) -> Any:
        if self._connection is None:
            self._connection = self._connected()
        try:
            return work(self._connection)
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _connected(self) -> Any:
        connection = self._library.connect(
            str(self._path), timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            connection.enable_load_extension(True)
            self._extension.load(connection)
            connection.enable_load_extension(False)
            connection.execute("PRAGMA journal_mode = WAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > _VERSION:
                raise StoreError(
                    f"the vectors in {self._path} are of version {version}, this agentflow knows "
                    f"versions up to {_VERSION}; upgrade agentflow"
                )
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _check_length(connection: Any, model: str, length: int) -> None:
    found = connection.execute(_LENGTH, {"model": model}).fetchone()
    if found is not None and found[0] != length:
        raise ValueError(
            f"a vector of {model!r} has {length} numbers, and those in the index have {found[0]}"
        )


def _extension() -> Any:
    try:
        return importlib.import_module("sqlite_vec")
    except ImportError as error:
        raise StoreError(
            "vectors in SQLite need sqlite-vec: pip install 'agentflow[recall]'"
        ) from error


def _library() -> Any:
    """Python's SQLite, or another one that loads extensions."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return importlib.import_module("pysqlite3")
    except ImportError as error:
        raise StoreError(
            "this Python was built without SQLite's extensions: pip install pysqlite3-binary, or use another Python"
        ) from error
