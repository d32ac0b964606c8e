"""The floor of a durable visit: the same bytes, inserted and committed by the database's own driver, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from bench.durable.place import Place, Postgresql, Sqlite

Write = Callable[[int], None]

BODY = (
    '{"frame":"","node":"count","visit":500,"delta":{"x":500},'
    '"spent":{"visits":1,"rounds":1},"seconds":0.123456,"round":500,"route":1,"to":"count"}'
)
"""What agentflow writes for visit 500 of the loop; a test compares the two."""


@contextmanager
def writing(place: Place, name: str = "raw") -> Iterator[Write]:
    """A function that inserts one row and commits it, into a file or a table of its own."""
    opened = on_sqlite(place, name) if isinstance(place, Sqlite) else on_postgresql(place, name)
    with opened as write:
        yield write


@contextmanager
def on_sqlite(place: Sqlite, name: str) -> Iterator[Write]:
    path = place.path.with_name(f"{name}.db")
    # Some competitors run their nodes in threads of their own, one at a time.
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {place.synchronous}")
        connection.execute(
            "CREATE TABLE raw (run INTEGER, number INTEGER, body TEXT, PRIMARY KEY (run, number))"
        )

        def write(number: int) -> None:
            connection.execute("INSERT INTO raw VALUES (1, ?, ?)", (number, BODY))
            connection.commit()

        yield write


@contextmanager
def on_postgresql(place: Postgresql, name: str) -> Iterator[Write]:
    import psycopg

    columns = "(run BIGINT, number BIGINT, body TEXT, PRIMARY KEY (run, number))"
    insert = f"INSERT INTO {name} VALUES (1, %s, %s)".encode()
    with psycopg.connect(place.conninfo) as connection:
        connection.execute(f"CREATE TABLE {name} {columns}".encode())
        connection.commit()

        def write(number: int) -> None:
            connection.execute(insert, (number, BODY))
            connection.commit()

        yield write
