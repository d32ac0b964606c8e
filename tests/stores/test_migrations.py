"""The version of the tables: made by whoever comes first, brought up to date all or not at all, and never read when it is newer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import psycopg
import pytest

from agentflow.errors import StoreError
from agentflow.stores import sqlite_file
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from agentflow.stores.statements import Dialect, load_dialect
from agentflow.testing.store_check import claimed, entries, opened
from tests.stores.conftest import MakeStore


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(sql).fetchall()
        connection.commit()
        return found


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_every_dialect_says_the_same_things(name: str) -> None:
    ours, others = load_dialect(name), load_dialect("sqlite")
    assert len(ours.migrations) == len(others.migrations) > 0
    only_here = ours.statements.keys() ^ others.statements.keys()
    # What one database needs because it locks rows, and the other because it does not.
    assert only_here <= {
        "fence",
        "fences",
        "held_drivers",
        "hold_driver",
        "lock_migrations",
    }


async def test_tables_of_a_newer_version_are_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path)) as store:
        await store.append(await claimed(store), entries(1))
    query(path, "INSERT INTO agentflow_schema VALUES (99)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"runs\.db was written by a newer .* version 99"):
        await SqliteStore(path).open()
    assert path.read_bytes() == before


async def test_tables_of_a_newer_version_on_a_server_are_refused(postgresql_url: str) -> None:
    async with opened(lambda: PostgresqlStore(postgresql_url)):
        pass
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("INSERT INTO agentflow_schema VALUES (99)")
    with pytest.raises(StoreError, match="written by a newer agentflow"):
        await PostgresqlStore(postgresql_url).open()


def with_a_second(migration: tuple[str, ...]) -> Dialect:
    dialect = load_dialect("sqlite")
    return replace(dialect, migrations=(*dialect.migrations, migration))


async def test_older_tables_are_brought_up_to_date_and_keep_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path)) as store:
        await store.append(await claimed(store), entries(1, 3))
    newer = with_a_second(("ALTER TABLE agentflow_runs ADD COLUMN note TEXT",))
    monkeypatch.setattr(sqlite_file, "load_dialect", lambda name: newer)
    for _ in range(2):
        async with opened(lambda: SqliteStore(path)) as store:
            assert await store.read("run") == entries(1, 3)
    assert query(path, "SELECT version FROM agentflow_schema") == [
        (at + 1,) for at in range(len(newer.migrations))
    ]
    assert query(path, "SELECT note FROM agentflow_runs") == [(None,)]


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path)) as store:
        await store.append(await claimed(store), entries(1))
    newer = with_a_second(("CREATE TABLE half (way TEXT)", "CREATE TABLE half (way TEXT)"))
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file, "load_dialect", lambda name: newer)
        with pytest.raises(StoreError, match="table half already exists"):
            await SqliteStore(path).open()
    assert query(path, "SELECT name FROM sqlite_master WHERE name = 'half'") == []
    async with opened(lambda: SqliteStore(path)) as store:
        assert await store.read("run") == entries(1)


async def test_many_who_open_an_empty_store_at_once_make_its_tables_once(
    make_store: MakeStore,
) -> None:
    stores = [make_store() for _ in range(8)]
    async with anyio.create_task_group() as group:
        for store in stores:
            group.start_soon(store.open)
    for at, store in enumerate(stores):
        await store.append(await claimed(store, f"run-{at}"), entries(1))
    for store in stores:
        await store.close()
