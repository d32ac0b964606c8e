"""Runs that write at the same time share their commits; one that writes alone waits for nobody."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentflow.run.entries import Claim
from agentflow.stores.sqlite import SqliteStore
from agentflow.stores.sqlite_session import SqliteSession
from agentflow.testing.store_check import claimed, entries, opened


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that have committed."""
    seen: list[str] = []

    def noting(committing: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **options: Any) -> Any:
            done = committing(*args, **options)
            seen.append(threading.current_thread().name)
            return done

        return act

    for name in ("commit", "change_alone"):
        monkeypatch.setattr(SqliteSession, name, noting(getattr(SqliteSession, name)))
    return seen


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_a_thousand_runs_that_write_at_once_share_a_few_commits(
    tmp_path: Path, durability: Any, commits: list[str]
) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, durability=durability)) as store:
        claims: list[Claim] = []

        async def claim(at: int) -> None:
            claims.append(await claimed(store, f"run-{at}"))

        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as group:
                for at in range(1000):
                    group.start_soon(claim, at)
                await anyio.wait_all_tasks_blocked()
                commits.clear()
                other.execute("COMMIT")
            assert len(commits) <= 6
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as group:
                for one in claims:
                    group.start_soon(store.append, one, entries(1))
                await anyio.wait_all_tasks_blocked()
                commits.clear()
                other.execute("COMMIT")
            assert len(commits) <= 6
        assert {info.last for info in await store.find()} == {1}


async def test_a_lone_relaxed_append_is_written_without_a_way_to_another_thread(
    tmp_path: Path, commits: list[str]
) -> None:
    here = threading.current_thread().name
    async with opened(lambda: SqliteStore(tmp_path / "runs.db", durability="relaxed")) as store:
        claim = await claimed(store)
        commits.clear()
        await store.append(claim, entries(1))
        assert commits == [here]


async def test_a_full_append_never_waits_for_the_disk_in_the_loop(
    tmp_path: Path, commits: list[str]
) -> None:
    here = threading.current_thread().name
    async with opened(lambda: SqliteStore(tmp_path / "runs.db")) as store:
        claim = await claimed(store)
        commits.clear()
        await store.append(claim, entries(1))
        assert len(commits) == 1
        assert here not in commits


async def test_a_log_that_grows_is_carried_over_while_a_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentflow.stores import sqlite_file

    monkeypatch.setattr(sqlite_file, "_CHECKPOINT", 20)
    monkeypatch.setattr(sqlite_file, "_LONG_LOG", 40)
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, durability="relaxed")) as store:
        claim = await claimed(store)
        for number in range(1, 2001):
            await store.append(claim, entries(number))
            if number % 10 == 0:
                # The thread that tidies up shares the interpreter with this loop.
                await store.claim("nobody")
        pages = path.with_name("runs.db-wal").stat().st_size // 4096
        assert pages < 1000
        assert len(await store.read("run")) == 2000
