"""A process that drives runs, for tests that kill it: it says what was acknowledged, line by line, and does what its first argument names.

Run as `python -m tests.stores.driver_process WORK URL [ARGUMENT…]`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sqlite3
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import Claim, Entry
from agentflow.run.ports import Store
from agentflow.run.registry import load_store
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing.store_check import claimed, entries, new_run, opened


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


async def fight(url: str, name: str, goal: str) -> None:
    """Claim a run as often as it can be had, and write to it, until it is long enough or somebody else has it."""
    async with opened(lambda: _on_a_machine_of_its_own(url, name)) as store:
        while True:
            found = await store.claim("run", new=new_run())
            if isinstance(found, Claim):
                if await _write_a_little(store, found, name, int(goal)):
                    break
            elif found is not None and found.last >= int(goal):
                break
            await anyio.lowlevel.checkpoint()


def _on_a_machine_of_its_own(url: str, name: str) -> Store:
    # Each takes the other for dead after next to no time, though both live: only the epoch keeps them apart.
    if url.startswith("sqlite"):
        return SqliteStore(
            url.removeprefix("sqlite:///"), lease=0.02, machine=name, durability="relaxed"
        )
    return PostgresqlStore(url, lease=0.02, machine=name)


async def _write_a_little(store: Store, claim: Claim, name: str, goal: int) -> bool:
    last = claim.info.last
    for number in range(last + 1, last + 1 + 7):
        body = json.dumps({"by": name, "epoch": claim.epoch})
        try:
            await store.append(claim, [Entry(number, "visit", body)])
        except StaleClaim:
            say("lost", claim.epoch)
            return False
        say("wrote", number, claim.epoch)
        if number >= goal:
            return True
    with contextlib.suppress(StaleClaim):
        await store.append(claim, [], status="interrupted")
    return False


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
