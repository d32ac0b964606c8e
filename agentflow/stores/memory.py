"""The memory store: for tests, and for durable code that needs no durability. It goes when the process goes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from agentflow.errors import StaleClaim
from agentflow.run.entries import (
    ENDED,
    SNAPSHOT,
    Claim,
    Entry,
    NewRun,
    RunInfo,
    StoredStatus,
)
from agentflow.stores.numbering import number_after

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Kept:
    info: RunInfo
    driven: bool
    entries: list[Entry] = field(default_factory=list)
    snapshot: Entry | None = None


class MemoryStore:
    """Keeps journals in this object. What is written goes through JSON and back, so that it is no laxer than a real store.

    Several engines may share one: when one of them is closed, its runs become `interrupted` for the others.
    """

    def __init__(self, url: str = "memory:") -> None:
        self.url = url
        self._runs: dict[str, _Kept] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Let others claim what is still driven."""
        for kept in self._runs.values():
            if kept.driven:
                self._give_back(kept, "interrupted")

    async def claim(
        self, run_id: str, *, new: NewRun | None = None, suspended: bool = False
    ) -> Claim | RunInfo | None:
        kept = self._runs.get(run_id)
        if kept is None:
            if new is None:
                return None
            kept = self._runs[run_id] = _Kept(_info_of(run_id, new), driven=False)
        free = kept.info.status in ("running", "interrupted") and not kept.driven
        if not free and not (suspended and kept.info.status == "suspended"):
            return kept.info
        kept.info = replace(kept.info, status="running", epoch=kept.info.epoch + 1, due=None)
        kept.driven = True
        return Claim(run_id, kept.info.epoch, kept.info)

    async def append(
        self,
        claim: Claim,
        entries: Sequence[Entry],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        kept = self._runs.get(claim.run_id)
        if kept is None or kept.info.epoch != claim.epoch or not kept.driven:
            raise StaleClaim(f"run {claim.run_id!r} was claimed by somebody else")
        last = number_after(claim.run_id, kept.info.last, entries)
        for entry in entries:
            body = json.dumps(json.loads(entry.body), ensure_ascii=False, separators=(",", ":"))
            copy = Entry(entry.number, entry.kind, body)
            if entry.kind == SNAPSHOT:
                kept.snapshot = copy
            else:
                kept.entries.append(copy)
        kept.info = replace(kept.info, last=last, updated=datetime.now(UTC))
        if status is not None and status != "running":
            self._give_back(kept, status, due)

    def _give_back(self, kept: _Kept, status: StoredStatus, due: datetime | None = None) -> None:
        kept.driven = False
        kept.info = replace(kept.info, status=status, due=due)

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        kept = self._runs.get(run_id)
        if kept is None:
            return []
        if after is not None or kept.snapshot is None:
            return kept.entries[after or 0 :]
        return [kept.snapshot, *kept.entries[kept.snapshot.number :]]

    async def find(
        self,
        *,
        run_id: str | None = None,
        status: StoredStatus | None = None,
        due: datetime | None = None,
        limit: int = 1000,
    ) -> list[RunInfo]:
        found = [
            kept.info
            for kept in self._runs.values()
            if run_id in (None, kept.info.run_id)
            and status in (None, kept.info.status)
            and (due is None or (kept.info.due is not None and kept.info.due <= due))
        ]
        return sorted(found, key=lambda info: (info.created, info.run_id))[:limit]

    async def prune(
        self,
        *,
        run_id: str | None = None,
        older_than: datetime | None = None,
        statuses: Collection[StoredStatus] = ENDED,
    ) -> int:
        gone = [
            id
            for id, kept in self._runs.items()
            if (id == run_id)
            or (
                run_id is None
                and kept.info.status in statuses
                and (older_than is None or kept.info.updated < older_than)
            )
        ]
        for id in gone:
            del self._runs[id]
        return len(gone)


def _info_of(run_id: str, new: NewRun) -> RunInfo:
    return RunInfo(
        run_id=run_id,
        workflow_id=new.workflow_id,
        workflow_version=new.workflow_version,
        fingerprint=new.fingerprint,
        status="running",
        created=new.created,
        updated=new.created,
    )
