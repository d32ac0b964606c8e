"""Snapshots in an SQLite file take less room than what they say, and come back as they were."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from agentflow.run.entries import SNAPSHOT, Entry
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing.store_check import claimed, entries, opened

SAID = json.dumps({"messages": [f"message {at} \u2028 \U0001f378" for at in range(2000)]})


async def test_a_snapshot_is_kept_in_a_part_of_the_room_that_it_would_take(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    snapshot = Entry(1, SNAPSHOT, SAID)
    async with opened(lambda: SqliteStore(path)) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1))
        await store.append(claim, [snapshot])
        await store.append(claim, entries(2))
        assert await store.read("run") == [snapshot, *entries(2)]
    with closing(sqlite3.connect(path)) as connection:
        ((kept,),) = connection.execute("SELECT body FROM agentflow_snapshots").fetchall()
    assert len(kept) < len(SAID) / 3


async def test_a_snapshot_that_was_put_there_as_a_text_is_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(lambda: SqliteStore(path)) as store:
        claim = await claimed(store)
        await store.append(claim, [*entries(1), Entry(1, SNAPSHOT, SAID)])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE agentflow_snapshots SET body = ?", (SAID,))
        assert await store.read("run") == [Entry(1, SNAPSHOT, SAID)]
