"""A process that drives runs, for tests that kill it: it says what was acknowledged, line by line, and does what its first argument names.

Run as `python -m tests.stores.driver_process WORK URL [ARGUMENT…]`.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import Claim, Entry
from agentflow.run.ports import Store
from agentflow.run.registry import load_store
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing.store_check import claimed, entries, new_run, opened
from tests.stores.leaping import Leaping


def say(*words: object) -> None:
    """Tell the parent, and be sure that it is told."""
    print(*words, flush=True)


async def drive(url: str, backend: str) -> None:
    """Write to one run for ever, saying each number that was acknowledged."""
    store = load_store(url)
    await store.open()
    claim = await claimed(store)
    number = claim.info.last
    while True:
        number += 1
        await store.append(claim, entries(number))
        say(number)


async def fight(url: str, name: str, robberies: str) -> None:
    """Claim a run and write to it, until it was taken away so many times; whoever is there first ends it."""
    left = int(robberies)
    async with opened(lambda: _always_taken_for_dead(url, name)) as store:
        say("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        while True:
            found = await store.claim("run", new=new_run())
            if isinstance(found, Claim):
                try:
                    await _write_a_little(store, found, name)
                    await store.append(found, [], status="interrupted" if left else "completed")
                except StaleClaim:
                    say("lost", found.epoch)
                    left = max(0, left - 1)
            elif found is not None and found.status == "completed":
                break


def _always_taken_for_dead(url: str, name: str) -> Store:
    # Only the epoch keeps the two apart.
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        return SqliteStore(path, machine=name, durability="relaxed", time=Leaping())
    return PostgresqlStore(url, machine=name, time=Leaping())


async def _write_a_little(store: Store, claim: Claim, name: str) -> None:
    last = claim.info.last
    for number in range(last + 1, last + 8):
        body = json.dumps({"by": name, "epoch": claim.epoch})
        await store.append(claim, [Entry(number, "visit", body)])
        say("wrote", number, claim.epoch)


async def fill(url: str, seed: str) -> None:
    """Write until the disk is full, and again when there is room."""
    path = Path(url.removeprefix("sqlite:///"))
    async with opened(lambda: SqliteStore(path)) as store:
        claim, other = await claimed(store), await claimed(store, "other")
        await store.append(claim, entries(1))
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        log = path.with_name(f"{path.name}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (log + 10_000 + 997 * int(seed), unlimited[1]))
        number = 1
        try:
            while True:
                body = json.dumps("x" * (300 * int(seed)))
                await store.append(claim, [Entry(number + 1, "visit", body), *entries(number + 2)])
                number += 2
        except StoreError as error:
            _named(error, path)
        try:
            await store.append(other, entries(1), status="completed")
        except StoreError as error:
            _named(error, path)
        read = await store.read("run")
        assert len(read) == number, (len(read), number)
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        await store.append(claim, entries(number + 1))
        again = await store.claim("other", new=new_run())
        assert isinstance(again, Claim) or (again is not None and again.status == "completed")
    say("went on", number)


def _named(error: StoreError, path: Path) -> None:
    assert path.name in str(error), error
    assert isinstance(error.__cause__, sqlite3.Error), error.__cause__
    say("refused", error)


async def hold(url: str) -> None:
    """Hold a run, and have a child that outlives this process."""
    store = load_store(url)
    await store.open()
    await claimed(store)
    say(_forked())
    await anyio.sleep_forever()


def _forked() -> int:
    child = os.fork()
    if child == 0:
        os.read(0, 1)
        os._exit(0)
    return child


WORK: dict[str, Any] = {"drive": drive, "fight": fight, "fill": fill, "hold": hold}

if __name__ == "__main__":
    backends = {"asyncio", "trio"} & set(sys.argv)
    anyio.run(WORK[sys.argv[1]], *sys.argv[2:], backend=next(iter(backends), "asyncio"))
