"""The numbers of entries: they go on without gaps, and a snapshot covers only what was written before it."""

from __future__ import annotations

from collections.abc import Sequence

from agentflow.errors import StoreError
from agentflow.run.entries import SNAPSHOT, Entry

__all__ = ["number_after"]


def number_after(run_id: str, last: int, entries: Sequence[Entry]) -> int:
    """The number of the last entry, when `entries` follow on number `last`.

    Raises:
        StoreError: They do not.
    """
    for entry in entries:
        if entry.kind == SNAPSHOT:
            if entry.number > last:
                raise StoreError(
                    f"run {run_id!r}: a snapshot covers entry {entry.number}, which is not there"
                )
        elif entry.number != last + 1:
            raise StoreError(f"run {run_id!r}: entry {entry.number} does not follow {last}")
        else:
            last += 1
    return last
