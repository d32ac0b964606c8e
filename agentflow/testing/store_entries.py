"""Checks of stores: writing entries and reading them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import anyio

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import SNAPSHOT, Claim, Entry, StoredStatus
from agentflow.run.ports import Store
from agentflow.testing.store_check import (
    BORN,
    MakeStore,
    StoreCheck,
    check_in,
    claimed,
    entries,
    new_run,
    opened,
    the_run,
)

__all__ = ["entry_checks"]

entry_checks: list[StoreCheck] = []


async def _is_refused(
    store: Store,
    claim: Claim,
    given: Sequence[Entry],
    *,
    status: StoredStatus | None = None,
    stale: bool = False,
) -> None:
    """Whether an append is refused, for the right reason, and has changed nothing."""
    before = (await store.find(run_id=claim.run_id), await store.read(claim.run_id, after=0))
    refusal: StoreError | None = None
    try:
        await store.append(claim, given, status=status)
    except StoreError as error:
        refusal = error
    assert refusal is not None, f"{given} with status {status} was not refused"
    assert isinstance(refusal, StaleClaim) == stale, f"refused with {refusal!r}"
    assert before == (
        await store.find(run_id=claim.run_id),
        await store.read(claim.run_id, after=0),
    )


@check_in(entry_checks)
async def entries_come_back_in_order(make: MakeStore) -> None:
    """One by one or several at a time: what was written is read, with its numbers, and counted."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1))
        await store.append(claim, entries(2, 5))
        await store.append(claim, [])
        await store.append(claim, entries(6))
        assert await store.read("run") == entries(1, 6)
        assert (await the_run(store)).last == 6


@check_in(entry_checks)
async def bodies_come_back_to_the_letter(make: MakeStore) -> None:
    """Whatever JSON can hold: other scripts, quotes, escaped control characters, big numbers, a megabyte of text."""
    values = [
        "",
        'a "quoted" \\ line\n',
        "\x00\x1f",
        "Grüße 世界 🦜",
        "%s :name $1",
        2**70,
        -0.5,
        "x" * 2**20,
    ]
    async with opened(make) as store:
        claim = await claimed(store)
        given = [
            Entry(at, "it's", json.dumps(value, ensure_ascii=False, separators=(",", ":")))
            for at, value in enumerate(values, start=1)
        ]
        await store.append(claim, given)
        assert await store.read("run") == given


@check_in(entry_checks)
async def runs_do_not_mix(make: MakeStore) -> None:
    """Ids that differ only in case or in a blank are different runs."""
    async with opened(make) as store:
        for run_id in ("run", "RUN", "run ", "ru'n", "%", "rün"):
            await store.append(
                await claimed(store, run_id), [Entry(1, "visit", json.dumps(len(run_id)))]
            )
        assert await store.read("RUN") == [Entry(1, "visit", "3")]
        assert await store.read("ru'n") == [Entry(1, "visit", "4")]
        assert len(await store.find()) == 6


@check_in(entry_checks)
async def a_gap_is_refused(make: MakeStore) -> None:
    """An entry that does not follow the last one, in front or behind, is written as little as those beside it."""
    async with opened(make) as store:
        claim = await claimed(store)
        await _is_refused(store, claim, entries(2))
        await store.append(claim, entries(1, 2))
        for given in (
            entries(2),
            entries(4),
            [*entries(3), *entries(5)],
            [*entries(3), *entries(3)],
        ):
            await _is_refused(store, claim, given, status="completed")
        await store.append(claim, entries(3))


@check_in(entry_checks)
async def an_older_claim_writes_nothing(make: MakeStore) -> None:
    """Once the run was claimed anew, the one before can neither write nor end it; the newer goes on."""
    async with opened(make) as mine, opened(make) as other:
        old = await claimed(mine)
        await mine.append(old, entries(1), status="interrupted")
        new = await claimed(other)
        await _is_refused(mine, old, entries(2), stale=True)
        await _is_refused(mine, old, [], status="completed", stale=True)
        await other.append(new, entries(2))
        await _is_refused(mine, old, entries(3), stale=True)


@check_in(entry_checks)
async def a_claim_that_was_given_back_writes_nothing(make: MakeStore) -> None:
    """Also when nobody has claimed the run since."""
    async with opened(make) as store:
        statuses: tuple[StoredStatus, ...] = (
            "suspended",
            "interrupted",
            "completed",
            "failed",
            "cancelled",
        )
        for status in statuses:
            claim = await claimed(store, status)
            await store.append(claim, entries(1), status=status)
            await _is_refused(store, claim, entries(2), stale=True)


@check_in(entry_checks)
async def a_run_that_is_gone_takes_nothing(make: MakeStore) -> None:
    """A claim of a run that was deleted is no claim."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.prune(run_id="run")
        await _is_refused(store, claim, entries(1), stale=True)


@check_in(entry_checks)
async def a_status_is_written_with_its_entries(make: MakeStore) -> None:
    """Each status gives the claim back, `running` does not; a suspended run keeps when it is due."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1), status="running")
        assert (await the_run(store)).status == "running"
        await store.append(claim, entries(2), status="suspended", due=BORN)
        info = await the_run(store)
        assert (info.status, info.due, info.last) == ("suspended", BORN, 2)
        resumed = await store.claim("run", suspended=True)
        assert isinstance(resumed, Claim)
        await store.append(resumed, [], status="suspended")
        info = await the_run(store)
        assert (info.status, info.due, info.last) == ("suspended", None, 2)


@check_in(entry_checks)
async def writing_is_noted(make: MakeStore) -> None:
    """A run tells when it was last written; that never goes back."""
    async with opened(make) as store:
        claim = await claimed(store, created=datetime(2020, 1, 1, tzinfo=BORN.tzinfo))
        seen = [claim.info.updated]
        for number in range(1, 4):
            await store.append(claim, entries(number))
            seen.append((await the_run(store)).updated)
        assert seen == sorted(seen)
        assert seen[0] < seen[-1]


@check_in(entry_checks)
async def reading_goes_on_after_a_number(make: MakeStore) -> None:
    """`after` leaves out what the reader has; there may be nothing left, or no run at all."""
    async with opened(make) as store:
        await store.append(await claimed(store), entries(1, 5))
        assert await store.read("run", after=0) == entries(1, 5)
        assert await store.read("run", after=3) == entries(4, 5)
        assert await store.read("run", after=5) == []
        assert await store.read("run", after=50) == []
        assert await store.read("nobody") == await store.read("nobody", after=0) == []


@check_in(entry_checks)
async def a_snapshot_is_where_reading_begins(make: MakeStore) -> None:
    """It has no number of its own, comes first and hides what it covers; later ones take its place; entries stay for who asks."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1, 3))
        await store.append(claim, [Entry(3, SNAPSHOT, '"three"')])
        assert await store.read("run") == [Entry(3, SNAPSHOT, '"three"')]
        await store.append(claim, entries(4))
        assert await store.read("run") == [Entry(3, SNAPSHOT, '"three"'), *entries(4)]
        await store.append(claim, [*entries(5), Entry(5, SNAPSHOT, '"five"'), *entries(6)])
        assert await store.read("run") == [Entry(5, SNAPSHOT, '"five"'), *entries(6)]
        assert await store.read("run", after=0) == entries(1, 6)
        assert await store.read("run", after=4) == entries(5, 6)
        assert (await the_run(store)).last == 6


@check_in(entry_checks)
async def a_snapshot_of_what_is_not_there_is_refused(make: MakeStore) -> None:
    """It covers entries that were written, or are written before it."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1))
        await _is_refused(store, claim, [Entry(2, SNAPSHOT, "{}"), *entries(2)])
        assert await store.read("run") == entries(1)


@check_in(entry_checks)
async def what_is_acknowledged_is_read_at_once(make: MakeStore) -> None:
    """By its driver and by others."""
    async with opened(make) as mine, opened(make) as other:
        claim = await claimed(mine)
        for number in range(1, 20):
            await mine.append(claim, entries(number))
            reader = (mine, other)[number % 2]
            assert len(await reader.read("run")) == (await the_run(reader)).last == number


@check_in(entry_checks)
async def many_runs_write_at_once(make: MakeStore) -> None:
    """Each of a hundred keeps its own order, and none waits for ever."""

    async def drive(store: Store, run_id: str) -> None:
        claim = await store.claim(run_id, new=new_run())
        assert isinstance(claim, Claim)
        for number in range(1, 6):
            await store.append(claim, [Entry(number, "visit", f'"{run_id} {number}"')])
        await store.append(claim, [], status="completed")

    async with opened(make) as mine, opened(make) as other:
        async with anyio.create_task_group() as group:
            for at in range(100):
                group.start_soon(drive, (mine, other)[at % 2], f"run-{at}")
        for at in range(100):
            found = await mine.read(f"run-{at}")
            assert [entry.body for entry in found] == [f'"run-{at} {n}"' for n in range(1, 6)]
        assert len(await mine.find(status="completed")) == 100


@check_in(entry_checks)
async def an_append_whose_caller_is_cancelled_is_seen_to_its_end(make: MakeStore) -> None:
    """The caller of an append is told what came of it, whenever it is cancelled: what it writes has happened already."""
    async with opened(make) as store:
        claim = await claimed(store)
        for number in range(1, 6):
            told: list[int] = []
            async with anyio.create_task_group() as group:
                group.start_soon(_append_and_note, store, claim, number, told)
                for _ in range(number - 1):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            assert told == [number], f"append {number} was cut by a cancel"
            assert (await the_run(store)).last == number


async def _append_and_note(store: Store, claim: Claim, number: int, told: list[int]) -> None:
    await store.append(claim, entries(number))
    told.append(number)
