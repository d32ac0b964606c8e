"""Where a competitor keeps its runs while one cell is measured: a new file beside the checkout, or a new database of a server."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.environments import HOME
from bench.scenarios import Unavailable

SERVER = "AGENTFLOW_BENCH_POSTGRESQL"
"""The environment variable with the URL of the server; `bench.durable.server` sets it unless it is given."""


@dataclass(frozen=True, slots=True)
class Sqlite:
    """A file that is not there yet.

    Args:
        path: Where it will be: on the disk of the checkout, because a temporary folder may lie in memory.
        synchronous: SQLite's own word for how a commit is made sure of: `FULL` or `NORMAL`, both with a write-ahead log.
    """

    path: Path
    synchronous: str

    def stored_bytes(self) -> int:
        """What the file takes, its log included."""
        return sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*"))


@dataclass(frozen=True, slots=True)
class Postgresql:
    """A database that is empty; commits wait for the disk.

    Args:
        conninfo: How libpq reaches it.
    """

    conninfo: str


Place = Sqlite | Postgresql


@contextmanager
def sqlite(synchronous: str) -> Iterator[Sqlite]:
    """A place on the disk, gone with everything in it when the block ends."""
    HOME.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=HOME, prefix="runs-"))
    try:
        yield Sqlite(folder / "runs.db", synchronous)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgresql() -> Iterator[Postgresql]:
    """A database on the server, dropped when the block ends."""
    url = os.environ.get(SERVER)
    if not url:
        raise Unavailable("there is no PostgreSQL server")
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise Unavailable("psycopg is not installed") from error
    name = f"bench_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    try:
        yield Postgresql(make_conninfo(url, dbname=name))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
