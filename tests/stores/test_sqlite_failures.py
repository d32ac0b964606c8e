"""What goes wrong with a file: an error that names it and the cause, nothing half written, and a store that goes on afterwards."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from agentflow.errors import StoreError
from agentflow.run.entries import Claim, Entry
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing.store_check import claimed, entries, new_run, opened, the_run


def holder(path: Path) -> sqlite3.Connection:
    """Somebody else who has the file open."""
    return sqlite3.connect(path, isolation_level=None, timeout=0)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "nowhere" / "runs.db")
    with pytest.raises(
        StoreError, match=r"runs\.db cannot be opened: there is no directory .*nowhere"
    ) as told:
        await store.open()
    assert isinstance(told.value.__cause__, sqlite3.Error)
    (tmp_path / "nowhere").mkdir()
    await store.open()
    await store.close()


async def test_a_directory_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it is a directory"):
        await SqliteStore(tmp_path).open()


async def test_a_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreError, match=r"runs\.db cannot be opened: file is not a database"):
        await SqliteStore(path).open()
    assert path.read_bytes() == b"Dear diary, " * 1000
    assert names_in(tmp_path) == ["runs.db"]


async def test_a_file_that_somebody_keeps_locked_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(holder(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = SqliteStore(path, patience=0)
        with pytest.raises(StoreError, match="another process has locked it"):
            await store.open()
        other.execute("COMMIT")
        await store.open()
        await store.close()


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_a_file_that_is_locked_while_it_is_written_is_written_later(
    tmp_path: Path, durability: object
) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, durability=durability, patience=0)) as store:  # type: ignore[arg-type]
        claim = await claimed(store)
        with closing(holder(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                StoreError, match="cannot be written: another process has locked it"
            ):
                await store.append(claim, entries(1))
            assert await store.read("run") == []
            other.execute("COMMIT")
        await store.append(claim, entries(1))
        assert await store.read("run") == entries(1)


async def test_a_run_that_could_not_be_given_back_is_found_by_who_recovers(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, patience=0)) as store:
        claim = await claimed(store)
        with closing(holder(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="another process has locked it"):
                await store.append(claim, [], status="interrupted")
            assert (await the_run(store)).status == "running"
            other.execute("COMMIT")
        assert [info.run_id for info in await store.find(status="interrupted")] == ["run"]


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_reads_and_the_loop_go_on_while_a_write_waits(
    tmp_path: Path, durability: object
) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, durability=durability, patience=60)) as store:  # type: ignore[arg-type]
        claim = await claimed(store)
        await store.append(claim, entries(1))
        with closing(holder(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as group:
                group.start_soon(store.append, claim, entries(2))
                for _ in range(10):
                    assert await store.read("run") == entries(1)
                    assert (await the_run(store)).last == 1
                other.execute("COMMIT")
        assert await store.read("run") == entries(1, 2)


async def test_a_damaged_file_is_an_error_of_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path)) as store:
        claim = await claimed(store)
        for number in range(1, 200):
            await store.append(claim, [Entry(number, "visit", '"' + "x" * 500 + '"')])
    content = bytearray(path.read_bytes())
    content[8192:] = random.Random(7).randbytes(len(content) - 8192)
    path.write_bytes(content)
    store = SqliteStore(path)
    with pytest.raises(StoreError, match=r"runs\.db cannot be \w+: .*malformed") as told:
        async with opened(lambda: store):
            await store.read("run")
    assert isinstance(told.value.__cause__, sqlite3.DatabaseError)


@pytest.mark.parametrize("seed", range(4))
async def test_a_log_that_is_torn_under_an_open_store_is_an_error_and_then_the_store_goes_on(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "runs.db"
    log = tmp_path / "runs.db-wal"
    async with opened(lambda: SqliteStore(path)) as store:
        claim = await claimed(store)
        kept = log.stat().st_size
        await store.append(claim, entries(1, 20))
        for number in range(21, 40):
            await store.append(claim, entries(number))
        os.truncate(log, random.Random(seed).randrange(kept, log.stat().st_size))
        with pytest.raises(StoreError, match=r"runs\.db cannot be read: disk I/O error"):
            await store.read("run")
        with pytest.raises(StoreError, match="does not follow"):
            await store.append(claim, entries(41))
        last = (await the_run(store)).last
        assert last < 40
        assert await store.read("run") == entries(1, last)
        await store.append(claim, entries(last + 1))


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_what_cannot_be_encoded_fails_alone(tmp_path: Path, durability: object) -> None:
    async with opened(lambda: SqliteStore(tmp_path / "runs.db", durability=durability)) as store:  # type: ignore[arg-type]
        claims = [await claimed(store, f"run-{at}") for at in range(8)]
        failed: list[str] = []

        async def write(claim: Claim) -> None:
            body = '"\ud800"' if claim.run_id == "run-3" else '"fine"'
            try:
                await store.append(claim, [Entry(1, "visit", body)])
            except StoreError:
                failed.append(claim.run_id)

        async with anyio.create_task_group() as group:
            for claim in claims:
                group.start_soon(write, claim)
        assert failed == ["run-3"]
        assert [info.last for info in await store.find()] == [1, 1, 1, 0, 1, 1, 1, 1]


async def test_a_claim_that_could_not_be_given_back_is_given_back_later(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path, patience=0)) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1))
        with closing(holder(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError):
                await store.append(claim, entries(2), status="completed")
            other.execute("COMMIT")
        again = await store.claim("run", new=new_run())
        assert isinstance(again, Claim)
        assert (again.epoch, again.info.last) == (2, 1)
        with pytest.raises(StoreError, match="claimed by somebody else"):
            await store.append(claim, entries(2))


async def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not open: await its open\(\) first"):
        await SqliteStore(tmp_path / "runs.db").read("run")


async def test_a_store_that_was_opened_before_a_fork_says_so_in_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(lambda: SqliteStore(tmp_path / "runs.db")) as store:
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: 1)
            with pytest.raises(StoreError, match="open it after the fork"):
                await store.read("run")
