"""A store as one process sees it, with a witness who notes in the world what was claimed and what was acknowledged."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agentflow.run.entries import SNAPSHOT, Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.run.ports import Store
from tests.crash.death import Writes
from tests.crash.world import World

__all__ = ["Witness", "digest_of"]


def digest_of(body: str) -> str:
    """What tells one entry's body from another's."""
    return hashlib.sha256(body.encode()).hexdigest()[:16]


class Witness:
    """A store that is watched.

    Args:
        store: The store.
        world: Where it is noted.
        writes: Who ends the process at one of its writes.
    """

    def __init__(self, store: Store, world: World, writes: Writes) -> None:
        self._store = store
        self._world = world
        self._writes = writes

    async def open(self) -> None:
        await self._store.open()
        self._writes.acknowledged()

    async def close(self) -> None:
        await self._store.close()
        self._writes.acknowledged()

    async def claim(
        self, run_id: str, *, new: NewRun | None = None, suspended: bool = False
    ) -> Claim | RunInfo | None:
        found = await self._store.claim(run_id, new=new, suspended=suspended)
        if isinstance(found, Claim):
            self._writes.acknowledged()
            self._world.epochs[run_id] = found.epoch
            self._world.write("claimed", run=run_id, epoch=found.epoch)
        return found

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        await self._store.append(claim, entries, status=status, due=due)
        self._writes.acknowledged()
        for entry in entries:
            if entry.kind != SNAPSHOT:
                self._world.write(
                    "acknowledged",
                    run=claim.run_id,
                    epoch=claim.epoch,
                    number=entry.number,
                    digest=digest_of(entry.body),
                )

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return await self._store.read(run_id, after=after)

    async def find(self, **conditions: Any) -> list[RunInfo]:
        return await self._store.find(**conditions)

    async def prune(self, **conditions: Any) -> int:
        return await self._store.prune(**conditions)
