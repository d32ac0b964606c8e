"""One check of a store, and the runs and entries that checks write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from agentflow.run.entries import Claim, Entry, NewRun, RunInfo
from agentflow.run.ports import Store

__all__ = [
    "BORN",
    "MakeStore",
    "StoreCheck",
    "check_in",
    "claimed",
    "entries",
    "new_run",
    "opened",
    "the_run",
]

MakeStore = Callable[[], Store]
"""Makes a store that is not open yet. Each call within one check makes another driver of the same data, which is empty at first."""

BORN = datetime(2030, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """One thing that every store must do; await it with a function that makes stores.

    Raises:
        AssertionError: The store does not conform.
    """

    name: str
    promise: str
    perform: Callable[[MakeStore], Awaitable[None]]

    async def __call__(self, make: MakeStore) -> None:
        """Try a store."""
        await self.perform(make)

    def __str__(self) -> str:
        return self.name


Check = Callable[[MakeStore], Awaitable[None]]


def check_in(checks: list[StoreCheck]) -> Callable[[Check], Check]:
    """Puts a check into a list: its name is the function's, its promise the docstring."""

    def add(check: Check) -> Check:
        name = getattr(check, "__name__", "check")
        checks.append(StoreCheck(name, (check.__doc__ or "").strip(), check))
        return check

    return add


@asynccontextmanager
async def opened(make: MakeStore) -> AsyncIterator[Store]:
    """A store that is open, and closed in the end."""
    store = make()
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def new_run(*, workflow_id: str = "flow", created: datetime = BORN) -> NewRun:
    """A run to be made."""
    return NewRun(
        workflow_id=workflow_id,
        workflow_version="1.2",
        fingerprint="sha256:0123",
        created=created,
    )


async def claimed(store: Store, run_id: str = "run", *, created: datetime = BORN) -> Claim:
    """A claim of a run, which is made if it is not there."""
    claim = await store.claim(run_id, new=new_run(created=created))
    assert isinstance(claim, Claim), f"the run was not claimed: {claim}"
    return claim


def entries(first: int, last: int | None = None) -> Sequence[Entry]:
    """Entries of the numbers `first` to `last`."""
    end = first if last is None else last
    return [Entry(number, "visit", f'{{"n":{number}}}') for number in range(first, end + 1)]


async def the_run(store: Store, run_id: str = "run") -> RunInfo:
    """What the store knows of a run."""
    (info,) = await store.find(run_id=run_id)
    return info
