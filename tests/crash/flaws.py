"""What the proof has to notice: the product, broken in one place. A flaw is put in by the process that is to live with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agentflow.run import context, frame, redo, suspension
from agentflow.run.context import NodeContext
from agentflow.run.entries import SNAPSHOT, Entry
from agentflow.run.journal import Journal
from agentflow.run.ledger import Ledger
from agentflow.run.loop import current_loop
from agentflow.stores.journals import Appending, Journals
from agentflow.stores.sqlite_session import SqliteSession
from agentflow.stores.table_store import TableStore
from agentflow.stores.worker import Job
from agentflow.tools import approval
from tests.crash.tale import is_time

__all__ = ["FLAWS", "Patch"]

Patch = Callable[[Any, str, Any], None]
"""Puts something in the place of what a module or a class has under a name."""


def effects_are_forgotten(patch: Patch) -> None:
    """Nobody looks into the journal for what was done before the crash."""
    patch(Journal, "effect_of", lambda self, place, key: None)


def effects_are_forgotten_after_a_failed_attempt(patch: Patch) -> None:
    """The same, but only where an attempt has failed."""
    find = Journal.effect_of

    def effect_of(self: Journal, place: str, key: str) -> Any:
        return None if self.attempts_at(place) else find(self, place, key)

    patch(Journal, "effect_of", effect_of)


def keys_change_with_the_driver(patch: Patch) -> None:
    """An effect has another key when another process makes its visit again."""
    key_of = NodeContext.effect_key

    def effect_key(self: NodeContext, name: str) -> str:
        journal = self.frame.run.journal
        again = journal is not None and journal.resumed
        return f"{key_of(self, name)}{os.getpid() if again else ''}"

    patch(NodeContext, "effect_key", effect_key)


def attempts_are_forgotten(patch: Patch) -> None:
    """A node that has failed begins anew with all of its attempts."""
    patch(Journal, "attempts_at", lambda self, place: 0)


def spending_is_forgotten(patch: Patch) -> None:
    """The ledger of a run that goes on is empty."""
    patch(Ledger, "restore", lambda self, used: None)


def answers_are_forgotten(patch: Patch) -> None:
    """An answer reaches the process that it is given to, and no other."""
    take = Journal._take

    def forgetful(self: Journal, entry: Entry) -> None:
        if entry.kind != "answered":
            take(self, entry)

    patch(Journal, "_take", forgetful)


def questions_are_new_in_each_process(patch: Patch) -> None:
    """The id of a request depends on which process asks."""
    make = suspension.request_of
    epochs: list[int] = []

    def request_of(ctx: NodeContext, key: str, payload: Any, schema: Any) -> Any:
        request = make(ctx, key, payload, schema)
        journal = ctx.frame.run.journal
        assert journal is not None
        epochs.append(journal._claim.epoch)
        return replace(request, id=request.id if epochs[0] == 1 else f"{request.id}{epochs[0]}")

    for module in (context, approval):
        patch(module, "request_of", request_of)


def waits_begin_anew(patch: Patch) -> None:
    """A time that is waited for is reckoned anew by whoever goes on."""
    find = Journal.effect_of

    def effect_of(self: Journal, place: str, key: str) -> Any:
        return None if is_time(key) else find(self, place, key)

    patch(Journal, "effect_of", effect_of)


def failures_are_not_recorded(patch: Patch) -> None:
    """That an error node took over is known only to the process that saw it."""

    async def nothing(*args: Any) -> None: ...

    patch(frame, "record_failure", nothing)


def snapshots_forget_visits(patch: Patch) -> None:
    """A run that goes on from a snapshot counts its visits from the beginning."""
    go_on = redo.go_on_from

    def go_on_from(where: Any, snapshot: Mapping[str, Any]) -> Any:
        return go_on(where, {**snapshot, "counts": {}})

    patch(frame, "go_on_from", go_on_from)


def the_end_is_written_in_two_pieces(patch: Patch) -> None:
    """The last entry of a run and its status are two transactions."""
    append = TableStore.append

    async def in_pieces(
        self: TableStore, claim: Any, entries: Sequence[Entry], **options: Any
    ) -> None:
        if entries:
            await append(self, claim, entries)
        if options.get("status") is not None:
            await append(self, claim, [], **options)

    patch(TableStore, "append", in_pieces)


def nobody_waits_for_the_commit(patch: Patch) -> None:
    """An entry is acknowledged as soon as it stands in the queue."""
    append = TableStore.append

    async def impatient(
        self: TableStore, claim: Any, entries: Sequence[Entry], **options: Any
    ) -> None:
        if options.get("status") is not None:
            await append(self, claim, entries, **options)
            return
        loop = current_loop()
        work = Appending(claim.run_id, claim.epoch, entries)
        self._opened().writes._put(Job(work, loop), loop)

    patch(TableStore, "append", impatient)


def nobody_is_fenced_off(patch: Patch) -> None:
    """Whoever has driven a run once may write to it for ever, behind whatever others have written."""
    append = Journals._append

    def fences(self: SqliteSession, driver: int, run_ids: Sequence[str]) -> dict[str, Any]:
        rows = self._connection.execute(
            "SELECT run_id, run_key, (SELECT coalesce(max(number), 0) FROM agentflow_entries AS e "
            "WHERE e.run_key = r.run_key) FROM agentflow_runs AS r"
        )
        return {run_id: (key, _Any(), last) for run_id, key, last in rows}

    def behind(self: Journals, session: Any, works: Sequence[Appending]) -> Any:
        lasts = {run_id: last for run_id, (_, _, last) in session.fences(0, []).items()}
        moved = [replace(work, entries=_from(lasts[work.run_id], work.entries)) for work in works]
        return append(self, session, moved)

    patch(SqliteSession, "fences", fences)
    patch(Journals, "_append", behind)


class _Any(int):
    """An epoch that is everybody's."""

    def __ne__(self, other: object) -> bool:
        return False


def _from(last: int, entries: Sequence[Entry]) -> list[Entry]:
    return [
        replace(entry, number=last if entry.kind == SNAPSHOT else last + at)
        for at, entry in enumerate(entries, 1)
    ]


FLAWS: Final[dict[str, Callable[[Patch], None]]] = {
    flaw.__name__: flaw
    for flaw in (
        effects_are_forgotten,
        effects_are_forgotten_after_a_failed_attempt,
        keys_change_with_the_driver,
        attempts_are_forgotten,
        spending_is_forgotten,
        answers_are_forgotten,
        questions_are_new_in_each_process,
        waits_begin_anew,
        failures_are_not_recorded,
        snapshots_forget_visits,
        the_end_is_written_in_two_pieces,
        nobody_waits_for_the_commit,
        nobody_is_fenced_off,
    )
}
