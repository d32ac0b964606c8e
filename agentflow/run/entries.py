"""What a store keeps: runs, their journal entries, and the claim of whoever drives a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

__all__ = ["ENDED", "SNAPSHOT", "Claim", "Entry", "NewRun", "RunInfo", "StoredStatus"]

StoredStatus = Literal["running", "suspended", "interrupted", "completed", "failed", "cancelled"]
ENDED: Final[frozenset[StoredStatus]] = frozenset({"completed", "failed", "cancelled"})
"""The statuses after which nothing follows."""

SNAPSHOT: Final = "snapshot"
"""The kind of the entries from which a reader may start, because they hold all that came before."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal entry: its number in the run, from 1 without gaps, its kind, and its body as JSON text."""

    number: int
    kind: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run that is to be made when it is claimed for the first time."""

    workflow_id: str
    workflow_version: str
    fingerprint: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run as a store knows it.

    Args:
        run_id: Its id.
        workflow_id: The workflow that it executes.
        workflow_version: The version that it was started with.
        fingerprint: The fingerprint of that definition.
        status: Its status; `interrupted` when it was running and nobody drives it any more.
        created: When it was made.
        updated: When its last entry was written.
        last: The number of its last entry, 0 before the first.
        epoch: How often it was claimed: only the newest claim may write.
        due: When a suspended run that waits for a time wants to go on.
    """

    run_id: str
    workflow_id: str
    workflow_version: str
    fingerprint: str
    status: StoredStatus
    created: datetime
    updated: datetime
    last: int = 0
    epoch: int = 0
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write to a run, until somebody claims it anew."""

    run_id: str
    epoch: int
    info: RunInfo
