"""Checks of stores: opening and closing, and who may drive a run."""

from __future__ import annotations

from datetime import timedelta

import anyio
import anyio.lowlevel

from agentflow.errors import StaleClaim
from agentflow.run.entries import ENDED, Claim, RunInfo, StoredStatus
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

__all__ = ["claim_checks"]

claim_checks: list[StoreCheck] = []


@check_in(claim_checks)
async def opening_twice_is_nothing(make: MakeStore) -> None:
    """A store that is open may be opened again, and holds what it held."""
    async with opened(make) as store:
        claim = await claimed(store)
        await store.open()
        await store.append(claim, entries(1))
        assert (await the_run(store)).status == "running"


@check_in(claim_checks)
async def closing_twice_is_nothing(make: MakeStore) -> None:
    """A store that is closed, or was never opened, may be closed."""
    store = make()
    await store.close()
    await store.open()
    await store.close()
    await store.close()


@check_in(claim_checks)
async def what_was_written_outlives_the_store_object(make: MakeStore) -> None:
    """After a close, another store on the same data has every entry."""
    async with opened(make) as store:
        await store.append(await claimed(store), entries(1, 3))
    async with opened(make) as store:
        assert await store.read("run") == entries(1, 3)


@check_in(claim_checks)
async def a_closed_store_can_be_opened_again(make: MakeStore) -> None:
    """The same object goes on after a close."""
    store = make()
    for turn in range(1, 4):
        await store.open()
        claim = await claimed(store)
        assert claim.epoch == turn
        await store.append(claim, entries(turn))
        await store.close()


@check_in(claim_checks)
async def a_run_that_is_not_there_is_none(make: MakeStore) -> None:
    """Without `new`, a claim makes nothing."""
    async with opened(make) as store:
        assert await store.claim("run") is None
        assert await store.claim("run", suspended=True) is None
        assert await store.find() == []


@check_in(claim_checks)
async def a_new_run_is_made_by_its_first_claim(make: MakeStore) -> None:
    """It is running, of epoch 1, without an entry, and everything that was said of it is kept."""
    async with opened(make) as store:
        claim = await store.claim("run", new=new_run())
        assert isinstance(claim, Claim)
        assert (claim.run_id, claim.epoch) == ("run", 1)
        info = claim.info
        assert (info.run_id, info.workflow_id, info.workflow_version) == ("run", "flow", "1.2")
        assert (info.fingerprint, info.created) == ("sha256:0123", BORN)
        assert (info.status, info.last, info.epoch, info.due) == ("running", 0, 1, None)
        assert await the_run(store) == info


@check_in(claim_checks)
async def what_is_there_is_not_made_anew(make: MakeStore) -> None:
    """`new` of a run that exists changes nothing of it."""
    async with opened(make) as store:
        await store.append(await claimed(store), entries(1), status="interrupted")
        other = new_run(workflow_id="other", created=BORN + timedelta(days=1))
        claim = await store.claim("run", new=other)
        assert isinstance(claim, Claim)
        assert (claim.info.workflow_id, claim.info.created) == ("flow", BORN)


@check_in(claim_checks)
async def a_driven_run_is_claimed_by_nobody_else(make: MakeStore) -> None:
    """Neither by its own driver once more, nor by another one: both are told of it."""
    async with opened(make) as mine, opened(make) as other:
        claim = await claimed(mine)
        for store in (mine, other):
            for suspended in (False, True):
                told = await store.claim("run", new=new_run(), suspended=suspended)
                assert isinstance(told, RunInfo)
                assert (told.status, told.epoch) == ("running", 1)
        await mine.append(claim, entries(1))


@check_in(claim_checks)
async def a_run_that_was_given_back_is_claimed_with_a_newer_epoch(make: MakeStore) -> None:
    """By whoever wants; the claim tells how far it has come."""
    async with opened(make) as mine, opened(make) as other:
        for epoch, store in enumerate([mine, other, other, mine], start=1):
            claim = await claimed(store)
            assert claim.epoch == claim.info.epoch == epoch
            assert claim.info.last == epoch - 1
            assert claim.info.status == "running"
            await store.append(claim, entries(epoch), status="interrupted")


@check_in(claim_checks)
async def a_suspended_run_is_claimed_only_on_purpose(make: MakeStore) -> None:
    """Without `suspended` it is told; with it, it runs again and is due no more."""
    async with opened(make) as store:
        await store.append(await claimed(store), entries(1), status="suspended", due=BORN)
        told = await store.claim("run", new=new_run())
        assert isinstance(told, RunInfo)
        assert (told.status, told.due, told.last) == ("suspended", BORN, 1)
        claim = await store.claim("run", suspended=True)
        assert isinstance(claim, Claim)
        assert (claim.epoch, claim.info.status, claim.info.due) == (2, "running", None)
        assert (await the_run(store)).due is None


@check_in(claim_checks)
async def a_run_that_has_ended_is_never_claimed(make: MakeStore) -> None:
    """However it ended, whoever asks."""
    async with opened(make) as store:
        for status in sorted(ENDED):
            claim = await claimed(store, status)
            await store.append(claim, entries(1), status=status)
            for suspended in (False, True):
                told = await store.claim(status, new=new_run(), suspended=suspended)
                assert isinstance(told, RunInfo)
                assert (told.status, told.last, told.epoch) == (status, 1, 1)


@check_in(claim_checks)
async def of_many_who_claim_at_once_one_gets_it(make: MakeStore) -> None:
    """A new run, one that was given back, and one that was suspended: one claim each, and the others are told."""
    async with opened(make) as mine, opened(make) as other:
        for round in range(1, 4):
            answers: list[Claim | RunInfo | None] = []

            async def ask(store: Store, answers: list[Claim | RunInfo | None] = answers) -> None:
                answers.append(await store.claim("run", new=new_run(), suspended=True))

            async with anyio.create_task_group() as group:
                for at in range(10):
                    group.start_soon(ask, (mine, other)[at % 2])
            claims = [answer for answer in answers if isinstance(answer, Claim)]
            assert [claim.epoch for claim in claims] == [round]
            assert all(isinstance(answer, Claim | RunInfo) for answer in answers)
            status: StoredStatus = "suspended" if round == 1 else "interrupted"
            await _append_by_either(mine, other, claims[0], round, status)


async def _append_by_either(
    mine: Store, other: Store, claim: Claim, number: int, status: StoredStatus
) -> None:
    """Only the driver that holds a claim can use it."""
    try:
        await mine.append(claim, entries(number), status=status)
    except StaleClaim:
        await other.append(claim, entries(number), status=status)


@check_in(claim_checks)
async def what_a_closed_driver_held_is_interrupted(make: MakeStore) -> None:
    """Its runs can be found as `interrupted` and claimed at once; those that it had given back stay what they are."""
    async with opened(make) as other:
        async with opened(make) as mine:
            await mine.append(await claimed(mine, "held"), entries(1, 2))
            await mine.append(await claimed(mine, "waits"), entries(1), status="suspended")
            await mine.append(await claimed(mine, "done"), entries(1), status="completed")
        assert [info.run_id for info in await other.find(status="interrupted")] == ["held"]
        assert (await the_run(other, "waits")).status == "suspended"
        assert (await the_run(other, "done")).status == "completed"
        claim = await claimed(other, "held")
        assert (claim.epoch, claim.info.last) == (2, 2)


@check_in(claim_checks)
async def a_claim_whose_caller_left_is_not_kept(make: MakeStore) -> None:
    """Whoever is cancelled while it claims leaves no run behind that nobody drives."""
    async with opened(make) as store:
        for wait in range(4):
            run_id = f"run-{wait}"
            held: list[object] = []
            async with anyio.create_task_group() as group:
                group.start_soon(_claim_and_note, store, run_id, held)
                for _ in range(wait):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            again = await store.claim(run_id, new=new_run())
            assert isinstance(again, RunInfo if held else Claim)


async def _claim_and_note(store: Store, run_id: str, held: list[object]) -> None:
    held.append(await store.claim(run_id, new=new_run()))
