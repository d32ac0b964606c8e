"""Checks of stores: finding runs and deleting them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentflow.run.entries import SNAPSHOT, Entry, RunInfo, StoredStatus
from agentflow.run.ports import Store
from agentflow.testing.store_check import (
    BORN,
    MakeStore,
    StoreCheck,
    check_in,
    claimed,
    entries,
    opened,
    the_run,
)

__all__ = ["run_checks"]

run_checks: list[StoreCheck] = []

STATUSES: tuple[StoredStatus, ...] = (
    "running",
    "suspended",
    "interrupted",
    "completed",
    "failed",
    "cancelled",
)
FUTURE = datetime(9000, 1, 1, tzinfo=UTC)


async def _one_of_each(store: Store) -> None:
    """A run of each status, the later named the older."""
    for age, status in enumerate(STATUSES):
        claim = await claimed(store, status, created=BORN - timedelta(hours=age))
        given = None if status == "running" else status
        await store.append(claim, entries(1), status=given)


def _ids(found: list[RunInfo]) -> list[str]:
    return [info.run_id for info in found]


@check_in(run_checks)
async def runs_are_found_by_id(make: MakeStore) -> None:
    """The one of that id, or none."""
    async with opened(make) as store:
        await _one_of_each(store)
        for status in STATUSES:
            (info,) = await store.find(run_id=status)
            assert (info.run_id, info.status, info.last) == (status, status, 1)
        assert await store.find(run_id="nobody") == []


@check_in(run_checks)
async def runs_are_found_by_status(make: MakeStore) -> None:
    """Those of that status, seen by their driver and by others."""
    async with opened(make) as mine, opened(make) as other:
        await _one_of_each(mine)
        for store in (mine, other):
            for status in STATUSES:
                assert _ids(await store.find(status=status)) == [status]


@check_in(run_checks)
async def the_oldest_is_found_first(make: MakeStore) -> None:
    """By when they were made, and by id where that is the same; `limit` cuts off the younger ones."""
    async with opened(make) as store:
        await _one_of_each(store)
        for run_id in ("b", "a", "C"):
            await claimed(store, run_id, created=BORN - timedelta(days=1))
        oldest = ["C", "a", "b", *reversed(STATUSES)]
        assert _ids(await store.find()) == oldest
        assert _ids(await store.find(limit=4)) == oldest[:4]
        assert _ids(await store.find(status="running", limit=3)) == ["C", "a", "b"]
        assert await store.find(limit=0) == []


@check_in(run_checks)
async def suspended_runs_are_found_when_they_are_due(make: MakeStore) -> None:
    """Those due by then, not those that wait for an answer, and not those that go on already."""
    async with opened(make) as store:
        for hour in (1, 2, 3):
            claim = await claimed(store, f"at-{hour}")
            due = BORN + timedelta(hours=hour)
            await store.append(claim, entries(1), status="suspended", due=due)
        await store.append(await claimed(store, "asks"), entries(1), status="suspended")
        assert await store.find(due=BORN) == []
        assert _ids(await store.find(due=BORN + timedelta(hours=2))) == ["at-1", "at-2"]
        await store.claim("at-1", suspended=True)
        assert _ids(await store.find(due=FUTURE)) == ["at-2", "at-3"]
        assert _ids(await store.find(due=FUTURE, limit=1)) == ["at-2"]


@check_in(run_checks)
async def conditions_are_joined(make: MakeStore) -> None:
    """A run is found when everything that was asked for is true of it."""
    async with opened(make) as store:
        claim = await claimed(store)
        assert await store.find(run_id="run", status="completed") == []
        await store.append(claim, entries(1), status="suspended", due=BORN)
        assert _ids(await store.find(run_id="run", status="suspended", due=BORN)) == ["run"]
        assert await store.find(run_id="run", due=BORN - timedelta(microseconds=1)) == []
        assert await store.find(status="running", due=BORN) == []
        assert await store.find(run_id="run", limit=0) == []


@check_in(run_checks)
async def what_was_found_is_no_window(make: MakeStore) -> None:
    """An info that was handed out does not change with its run."""
    async with opened(make) as store:
        claim = await claimed(store)
        before = await the_run(store)
        found = await store.read("run")
        await store.append(claim, entries(1), status="completed")
        assert (before.status, before.last, found) == ("running", 0, [])


@check_in(run_checks)
async def what_has_ended_is_pruned(make: MakeStore) -> None:
    """Without further words it is every run that has ended, and none that has not."""
    async with opened(make) as store:
        await _one_of_each(store)
        assert await store.prune() == 3
        assert _ids(await store.find()) == ["interrupted", "suspended", "running"]
        assert await store.prune() == 0


@check_in(run_checks)
async def pruning_goes_by_status(make: MakeStore) -> None:
    """Those that are named, also ones that have not ended."""
    async with opened(make) as store:
        await _one_of_each(store)
        assert await store.prune(statuses=[]) == 0
        assert await store.prune(statuses=["failed", "suspended"]) == 2
        assert _ids(await store.find()) == ["cancelled", "completed", "interrupted", "running"]
        assert await store.prune(statuses=["interrupted", "running"]) == 2
        assert _ids(await store.find()) == ["cancelled", "completed"]


@check_in(run_checks)
async def pruning_goes_by_age(make: MakeStore) -> None:
    """A run is as old as what was last written to it."""
    async with opened(make) as store:
        await _one_of_each(store)
        written = (await the_run(store, "completed")).updated
        assert await store.prune(older_than=written - timedelta(days=1)) == 0
        await store.prune(older_than=written, statuses=["completed"])
        assert _ids(await store.find(status="completed")) == ["completed"]
        assert await store.prune(older_than=FUTURE, statuses=["completed"]) == 1


@check_in(run_checks)
async def one_run_is_pruned_whatever_it_does(make: MakeStore) -> None:
    """By its id; there may be none."""
    async with opened(make) as store:
        await _one_of_each(store)
        for status in STATUSES:
            assert await store.prune(run_id=status) == 1
            assert await store.prune(run_id=status) == 0
        assert await store.find() == []


@check_in(run_checks)
async def nothing_of_a_pruned_run_stays(make: MakeStore) -> None:
    """Not its entries, not its snapshot; a new run of its id begins at the beginning, and others keep theirs."""
    async with opened(make) as store:
        for run_id in ("run", "other"):
            claim = await claimed(store, run_id)
            await store.append(claim, [*entries(1, 3), Entry(3, SNAPSHOT, '"three"'), *entries(4)])
        assert await store.prune(run_id="run") == 1
        assert await store.find(run_id="run") == []
        assert await store.read("run") == await store.read("run", after=0) == []
        assert await store.claim("run") is None
        claim = await claimed(store)
        assert claim.info.last == 0
        await store.append(claim, entries(1))
        assert await store.read("run") == entries(1)
        assert await store.read("other", after=0) == entries(1, 4)
