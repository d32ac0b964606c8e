"""The conformance suite of stores finds what it is there for: each check refuses a store that breaks its promise."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import ENDED, SNAPSHOT, Claim, Entry, RunInfo
from agentflow.stores.memory import MemoryStore
from agentflow.testing import store_suite

CHECKS = {check.name: check for check in store_suite}


class Reopening(MemoryStore):
    async def open(self) -> None:
        await self.close()


class OpeningOnce(MemoryStore):
    closed = False

    async def open(self) -> None:
        if self.closed:
            raise StoreError("it was closed")

    async def close(self) -> None:
        await super().close()
        self.closed = True


class ClosingOnce(MemoryStore):
    is_open = False

    async def open(self) -> None:
        self.is_open = True

    async def close(self) -> None:
        if not self.is_open:
            raise StoreError("it is not open")
        await super().close()
        self.is_open = False


class Forgetful(MemoryStore):
    async def close(self) -> None:
        self._runs.clear()


class Clinging(MemoryStore):
    async def close(self) -> None:
        """Nothing is given back."""


class GivingUp(MemoryStore):
    async def close(self) -> None:
        for kept in self._runs.values():
            self._give_back(kept, "interrupted")


class Claims(MemoryStore, ABC):
    """A store that does something else when it is claimed: what, its subclasses say."""

    async def claim(self, run_id: str, **options: Any) -> Any:
        return self.changed(run_id, await super().claim(run_id, **options), **options)

    @abstractmethod
    def changed(self, run_id: str, answer: Any, **options: Any) -> Any:
        """The answer that is given in place of the right one."""


class MakingRuns(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        if options.get("new") is None and run_id not in self._runs:
            raise StoreError("there is no such run")
        return await super().claim(run_id, **options)


class Imprecise(Claims):
    def changed(self, run_id: str, answer: Any, **options: Any) -> Any:
        if isinstance(answer, Claim):
            info = replace(answer.info, created=answer.info.created.replace(microsecond=0))
            return replace(answer, info=info)
        return answer


class MakingAnew(Claims):
    def changed(self, run_id: str, answer: Any, **options: Any) -> Any:
        new = options.get("new")
        if isinstance(answer, Claim) and new is not None:
            return replace(answer, info=replace(answer.info, workflow_id=new.workflow_id))
        return answer


class Generous(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        if run_id in self._runs:
            self._runs[run_id].driven = False
        return await super().claim(run_id, **options)


class SameEpoch(Claims):
    def changed(self, run_id: str, answer: Any, **options: Any) -> Any:
        if not isinstance(answer, Claim):
            return answer
        self._runs[run_id].info = replace(answer.info, epoch=1)
        return Claim(run_id, 1, self._runs[run_id].info)


class Eager(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        return await super().claim(run_id, **{**options, "suspended": True})


class Reviving(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        kept = self._runs.get(run_id)
        if kept is not None and kept.info.status in ENDED:
            kept.info = replace(kept.info, status="interrupted")
        return await super().claim(run_id, **options)


class Racing(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        known = self._runs.get(run_id)
        free = known is None or not known.driven
        await anyio.lowlevel.checkpoint()
        if free and run_id in self._runs:
            self._runs[run_id].driven = False
            self._runs[run_id].info = replace(self._runs[run_id].info, status="interrupted")
        return await super().claim(run_id, **options)


class LeavingClaims(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        answer = await super().claim(run_id, **options)
        await anyio.lowlevel.checkpoint()
        return answer


class Appends(MemoryStore):
    """A store that writes something else than it is given."""

    def given(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return entries

    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        await super().append(claim, self.given(entries), **options)


class Blank(Appends):
    def given(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return [replace(entry, body=json.dumps(json.loads(entry.body))) for entry in entries]

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        found = await super().read(run_id, after=after)
        return [replace(entry, body=json.dumps(json.loads(entry.body))) for entry in found]


class Reversing(MemoryStore):
    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return (await super().read(run_id, after=after))[::-1]


class CaseBlind(MemoryStore):
    async def claim(self, run_id: str, **options: Any) -> Any:
        return await super().claim(run_id.lower(), **options)

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return await super().read(run_id.lower(), after=after)


class HalfWritten(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        for entry in entries:
            await super().append(claim, [entry])
        await super().append(claim, [], **options)


class Renumbering(Appends):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        last = self._runs[claim.run_id].info.last if claim.run_id in self._runs else 0
        given = [replace(entry, number=last + at) for at, entry in enumerate(entries, start=1)]
        await super().append(claim, given, **options)


class NoFence(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        kept = self._runs.get(claim.run_id)
        if kept is not None and kept.driven:
            claim = replace(claim, epoch=kept.info.epoch)
        await super().append(claim, entries, **options)


class KeepingClaims(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        kept = self._runs.get(claim.run_id)
        if kept is not None:
            kept.driven = True
        await super().append(claim, entries, **options)


class Mumbling(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        try:
            await super().append(claim, entries, **options)
        except StaleClaim:
            raise StoreError("something went wrong") from None


class NoDue(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        await super().append(claim, entries, **{**options, "due": None})


class Timeless(MemoryStore):
    async def append(self, claim: Claim, entries: Sequence[Entry], **options: Any) -> None:
        kept = self._runs[claim.run_id]
        before = kept.info.updated
        await super().append(claim, entries, **options)
        kept.info = replace(kept.info, updated=before)


class FromTheStart(MemoryStore):
    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return await super().read(run_id, after=None if after is None else 0)


class NoSnapshots(Appends):
    def given(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return [entry for entry in entries if entry.kind != SNAPSHOT]


class Late(MemoryStore):
    last: list[Entry] | None = None

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        found = await super().read(run_id, after=after)
        before, self.last = self.last, list(found)
        return found if before is None else before


class Mixing(MemoryStore):
    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return await super().read(next(iter(self._runs), run_id), after=after)


class Finds(MemoryStore):
    """A store that finds something else than it is asked for."""

    def asked(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    def found(self, infos: list[RunInfo], options: dict[str, Any]) -> list[RunInfo]:
        return infos

    async def find(self, **options: Any) -> list[RunInfo]:
        return self.found(await super().find(**self.asked(options)), options)


def without(*names: str) -> type[MemoryStore]:
    class Ignoring(Finds):
        def asked(self, options: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in options.items() if name not in names}

    return Ignoring


class AnyOf(Finds):
    def asked(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"run_id": options["run_id"]} if options.get("run_id") else options


class NewestFirst(Finds):
    def found(self, infos: list[RunInfo], options: dict[str, Any]) -> list[RunInfo]:
        return infos[::-1]


class Window(MemoryStore):
    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return self._runs[run_id].entries


class Prunes(MemoryStore):
    """A store that deletes something else than it is asked for."""

    def asked(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    async def prune(self, **options: Any) -> int:
        return await super().prune(**self.asked(options))


def pruning(change: Callable[[dict[str, Any]], dict[str, Any]]) -> type[MemoryStore]:
    class Changing(Prunes):
        def asked(self, options: dict[str, Any]) -> dict[str, Any]:
            return change(options)

    return Changing


class OnlyEnded(MemoryStore):
    async def prune(self, **options: Any) -> int:
        run_id = options.get("run_id")
        if run_id is not None and self._runs[run_id].info.status not in ENDED:
            return 0
        return await super().prune(**options)


class Leftovers(MemoryStore):
    async def prune(self, **options: Any) -> int:
        left = {run_id: list(kept.entries) for run_id, kept in self._runs.items()}
        count = await super().prune(**options)
        self.left = {run_id: left[run_id] for run_id in left.keys() - self._runs.keys()}
        return count

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        return await super().read(run_id, after=after) or getattr(self, "left", {}).get(run_id, [])


def younger(options: dict[str, Any]) -> dict[str, Any]:
    if options.get("older_than") is not None:
        return {**options, "older_than": options["older_than"] + timedelta(seconds=1)}
    return options


class Cut(MemoryStore):
    """Lets go of an append when its caller is cancelled."""

    async def append(self, *args: Any, **options: Any) -> None:
        await anyio.lowlevel.checkpoint()
        await super().append(*args, **options)


SINS: list[tuple[str, type[MemoryStore]]] = [
    ("opening_twice_is_nothing", Reopening),
    ("closing_twice_is_nothing", ClosingOnce),
    ("what_was_written_outlives_the_store_object", Forgetful),
    ("a_closed_store_can_be_opened_again", OpeningOnce),
    ("a_run_that_is_not_there_is_none", MakingRuns),
    ("a_new_run_is_made_by_its_first_claim", Imprecise),
    ("what_is_there_is_not_made_anew", MakingAnew),
    ("a_driven_run_is_claimed_by_nobody_else", Generous),
    ("a_run_that_was_given_back_is_claimed_with_a_newer_epoch", SameEpoch),
    ("a_suspended_run_is_claimed_only_on_purpose", Eager),
    ("a_run_that_has_ended_is_never_claimed", Reviving),
    ("of_many_who_claim_at_once_one_gets_it", Racing),
    ("what_a_closed_driver_held_is_interrupted", Clinging),
    ("what_a_closed_driver_held_is_interrupted", GivingUp),
    ("a_claim_whose_caller_left_is_not_kept", LeavingClaims),
    ("entries_come_back_in_order", Reversing),
    ("bodies_come_back_to_the_letter", Blank),
    ("runs_do_not_mix", CaseBlind),
    ("an_append_whose_caller_is_cancelled_is_seen_to_its_end", Cut),
    ("a_gap_is_refused", HalfWritten),
    ("a_gap_is_refused", Renumbering),
    ("an_older_claim_writes_nothing", NoFence),
    ("an_older_claim_writes_nothing", Mumbling),
    ("a_claim_that_was_given_back_writes_nothing", KeepingClaims),
    ("a_run_that_is_gone_takes_nothing", Mumbling),
    ("a_status_is_written_with_its_entries", NoDue),
    ("writing_is_noted", Timeless),
    ("reading_goes_on_after_a_number", FromTheStart),
    ("a_snapshot_is_where_reading_begins", NoSnapshots),
    ("a_snapshot_of_what_is_not_there_is_refused", NoSnapshots),
    ("what_is_acknowledged_is_read_at_once", Late),
    ("many_runs_write_at_once", Mixing),
    ("runs_are_found_by_id", without("run_id")),
    ("runs_are_found_by_status", without("status")),
    ("the_oldest_is_found_first", NewestFirst),
    ("the_oldest_is_found_first", without("limit")),
    ("suspended_runs_are_found_when_they_are_due", without("due")),
    ("conditions_are_joined", AnyOf),
    ("what_was_found_is_no_window", Window),
    ("what_has_ended_is_pruned", pruning(lambda options: {"statuses": ["completed"]})),
    ("pruning_goes_by_status", pruning(lambda options: {})),
    ("pruning_goes_by_age", pruning(younger)),
    ("one_run_is_pruned_whatever_it_does", OnlyEnded),
    ("nothing_of_a_pruned_run_stays", Leftovers),
]


@pytest.mark.parametrize(
    ("name", "sinner"), SINS, ids=lambda value: getattr(value, "__name__", value)
)
async def test_a_check_refuses_a_store_that_breaks_its_promise(
    name: str, sinner: type[MemoryStore]
) -> None:
    store = sinner()
    with pytest.raises((AssertionError, StoreError, ValueError)):
        await CHECKS[name](lambda: store)


def test_every_check_is_tried_on_a_sinner() -> None:
    assert {name for name, _ in SINS} == CHECKS.keys()


@pytest.mark.parametrize("check", store_suite, ids=str)
async def test_a_store_that_keeps_its_promises_passes(check: Any) -> None:
    store = MemoryStore()
    await check(lambda: store)
