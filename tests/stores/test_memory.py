"""Memories on databases keep every promise of their ports, beside the journals of the same database."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentflow import Agent
from agentflow.agents.memory import Memory, Thread, Turn
from agentflow.errors import StoreError
from agentflow.messages import user
from agentflow.mock import MockModel, Rule
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.postgresql_memory import PostgresqlMemory
from agentflow.stores.sqlite import SqliteStore
from agentflow.stores.sqlite_memory import SqliteMemory
from agentflow.stores.table_memory import TableMemory
from agentflow.testing import MemoryCheck, history_suite, working_memory_suite
from agentflow.testing.store_check import claimed, entries, opened

KINDS = ["sqlite-full", "sqlite-relaxed", "postgresql"]
ANNA = Thread("anna", "plans")
TURN = Turn("t1", (user("hello"),))


@pytest.fixture(params=KINDS)
async def make_memory(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], TableMemory]]:
    """A function that makes memories of one kind, all of them on the same data."""
    made: list[TableMemory] = []
    kind: str = request.param
    url = request.getfixturevalue("postgresql_url") if kind == "postgresql" else ""

    def make() -> TableMemory:
        if kind == "postgresql":
            made.append(PostgresqlMemory(url))
        else:
            made.append(SqliteMemory(tmp_path / "m.db", durability=kind[7:]))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for memory in made:
        await memory.close()


@pytest.mark.parametrize("check", history_suite, ids=str)
async def test_a_history_on_a_database_conforms(check: MemoryCheck, make_memory: Any) -> None:
    await check(make_memory)


@pytest.mark.parametrize("check", working_memory_suite, ids=str)
async def test_a_working_memory_on_a_database_conforms(
    check: MemoryCheck, make_memory: Any
) -> None:
    await check(make_memory)


async def test_what_was_kept_is_there_after_the_memory_was_closed(make_memory: Any) -> None:
    memory = make_memory()
    async with memory:
        await memory.append(ANNA, TURN)
    # Used again, it opens itself again.
    assert list(await memory.load(ANNA, last=9)) == [TURN]
    assert list(await make_memory().load(ANNA, last=9)) == [TURN]


async def test_a_memory_and_a_store_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteMemory(path) as memory, opened(lambda: SqliteStore(path)) as store:
        await _share(memory, store)


async def test_a_memory_and_a_store_share_one_database(postgresql_url: str) -> None:
    make = lambda: PostgresqlStore(postgresql_url)  # noqa: E731
    async with PostgresqlMemory(postgresql_url) as memory, opened(make) as store:
        await _share(memory, store)


async def _share(memory: TableMemory, store: Any) -> None:
    claim = await claimed(store)
    await memory.append(ANNA, TURN)
    await store.append(claim, entries(1))
    await memory.put("anna", "1")
    await store.append(claim, entries(2), status="completed")
    assert await store.prune() == 1
    assert list(await memory.load(ANNA, last=9)) == [TURN]
    assert await memory.get("anna") == "1"


@pytest.mark.rule("R219")
async def test_a_durable_agent_and_its_memory_live_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    mine: Any = {"resource_id": "u1", "thread_id": "t1"}
    async with SqliteMemory(path) as memory:
        model = MockModel([Rule(reply=lambda request: str(len(request.messages)))])
        asked = Agent("desk", model=model, memory=Memory(history=memory), store=SqliteStore(path))
        async with asked:
            for _ in range(2):
                # The second time it is known how the run has ended.
                first = await asked.generate_text("one", run_id="r1", **mine)
            second = await asked.generate_text("two", run_id="r2", **mine)
        assert (first.text, second.text) == ("1", "3")
        kept = await memory.load(Thread("u1", "t1"), last=9)
        assert [turn.id for turn in kept] == ["r1", "r2"]


async def test_a_file_that_cannot_be_opened_is_an_error_that_says_so(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "nowhere" / "m.db")
    with pytest.raises(StoreError, match="there is no directory"):
        await memory.load(ANNA, last=1)
    (tmp_path / "nowhere").mkdir()
    assert list(await memory.load(ANNA, last=1)) == []
    await memory.close()


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SqliteMemory(path) as memory:
        await memory.append(ANNA, TURN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO agentflow_schema VALUES (99)")
        connection.commit()
    async with SqliteMemory(path) as memory:
        with pytest.raises(StoreError, match="newer agentflow"):
            await memory.load(ANNA, last=1)


async def test_a_lost_connection_is_made_anew(postgresql_url: str) -> None:
    async with PostgresqlMemory(postgresql_url) as memory:
        await memory.append(ANNA, TURN)
        with psycopg.connect(postgresql_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'agentflow' AND query LIKE '%agentflow_turn%' "
                "AND pid <> pg_backend_pid()"
            )
        assert list(await memory.load(ANNA, last=9)) == [TURN]


def test_what_names_no_database_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no PostgreSQL database"):
        PostgresqlMemory("not a = conninfo =")


def test_there_are_two_kinds_of_durability(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are 'full' and 'relaxed'"):
        SqliteMemory(tmp_path / "m.db", durability="some")  # type: ignore[arg-type]
