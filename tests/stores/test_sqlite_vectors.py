"""Vectors in SQLite keep every promise of their port, where sqlite-vec can be loaded."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentflow.agents.memory import Thread
from agentflow.errors import StoreError
from agentflow.stores import sqlite_vectors
from agentflow.stores.sqlite_vectors import SqliteVectors
from agentflow.testing import MemoryCheck, vector_index_suite

ANNA = Thread("anna", "plans")


@pytest.fixture
async def make_vectors(tmp_path: Path) -> AsyncIterator[Callable[[], SqliteVectors]]:
    """A function that makes indexes, all of them on one file."""
    made: list[SqliteVectors] = []
    try:
        SqliteVectors(tmp_path / "vectors.db")
    except StoreError as reason:
        pytest.skip(str(reason))

    def make() -> SqliteVectors:
        made.append(SqliteVectors(tmp_path / "vectors.db"))
        return made[-1]

    yield make
    for vectors in made:
        await vectors.close()


@pytest.mark.parametrize("check", vector_index_suite, ids=str)
async def test_vectors_in_sqlite_conform(
    check: MemoryCheck, make_vectors: Callable[[], SqliteVectors]
) -> None:
    await check(make_vectors)


async def test_what_was_added_is_there_after_it_was_closed(
    make_vectors: Callable[[], SqliteVectors],
) -> None:
    async with make_vectors() as vectors:
        await vectors.add(ANNA, "t1", [1.0, 0.0], model="m")
    for again in (vectors, make_vectors()):
        (match,) = await again.search("anna", [1.0, 0.0], model="m", limit=1)
        assert match.turn_id == "t1"


async def test_a_vector_without_a_direction_is_near_to_nothing(
    make_vectors: Callable[[], SqliteVectors],
) -> None:
    vectors = make_vectors()
    await vectors.add(ANNA, "t1", [0.0, 0.0], model="m")
    (match,) = await vectors.search("anna", [1.0, 0.0], model="m", limit=1)
    assert match.similarity == 0


async def test_a_file_that_cannot_be_opened_is_an_error_that_names_it(
    make_vectors: Callable[[], SqliteVectors], tmp_path: Path
) -> None:
    async with SqliteVectors(tmp_path / "nowhere" / "v.db") as vectors:
        with pytest.raises(StoreError, match=r"nowhere.*cannot be used"):
            await vectors.search("anna", [1.0], model="m", limit=1)


async def test_vectors_of_a_newer_version_are_refused(
    make_vectors: Callable[[], SqliteVectors], tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "vectors.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        await make_vectors().search("anna", [1.0], model="m", limit=1)


def test_what_is_missing_is_told_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.raises(StoreError, match=r"agentflow\[recall\]"):
        SqliteVectors(tmp_path / "v.db")


def test_a_python_without_extensions_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Bare:
        Connection = object

    monkeypatch.setattr(sqlite_vectors, "sqlite3", Bare)
    monkeypatch.setitem(sys.modules, "pysqlite3", None)
    with pytest.raises(StoreError, match="pip install pysqlite3-binary"):
        sqlite_vectors._library()


def test_pythons_own_sqlite_is_used_where_it_loads_extensions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Able:
        class Connection:
            enable_load_extension = True

    monkeypatch.setattr(sqlite_vectors, "sqlite3", Able)
    assert sqlite_vectors._library() is Able
