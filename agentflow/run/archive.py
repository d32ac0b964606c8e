"""What a store knows of an engine's runs: which there are, what happened in one, and what its state was."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, get_args

import anyio

from agentflow.errors import RunCancelled, RunConflict
from agentflow.run.attach import give_back, same_workflow
from agentflow.run.ended import end_body
from agentflow.run.entries import Claim, Entry, NewRun, StoredStatus
from agentflow.run.fork import forked
from agentflow.run.journal import Journal
from agentflow.run.usage import Usage, is_usage, usage_by_path

if TYPE_CHECKING:
    from agentflow.run.engine import Engine
    from agentflow.run.options import ResumeOptions
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = [
    "JournalRecord",
    "cancel",
    "counted_by",
    "drain",
    "fork",
    "history",
    "prune",
    "recover",
    "spent_by",
    "usage_by",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One thing that happened in a durable run, values included.

    Args:
        number: Its number in the run, from 1.
        kind: `started`, `visit`, `failed`, `attempt`, `effect`, `suspended`, `answered`, `resumed` or `ended`.
        frame: The sub-workflow that it happened in, as a path of visits; empty for the run itself.
        node_id: The node concerned, if one is.
        visit: Which visit of it.
        data: What the entry holds, values in their stored form.
    """

    number: int
    kind: str
    frame: str = ""
    node_id: str | None = None
    visit: int | None = None
    data: Mapping[str, Any]


def history(entries: Sequence[Entry]) -> list[JournalRecord]:
    """The entries of a journal as records."""
    found = []
    for entry in entries:
        body = json.loads(entry.body)
        found.append(
            JournalRecord(
                number=entry.number,
                kind=entry.kind,
                frame=body.get("frame", ""),
                node_id=body.get("node"),
                visit=body.get("visit"),
                data=body,
            )
        )
    return found


def spent_by(records: Sequence[JournalRecord]) -> dict[str, float]:
    """What a run had spent by the last of its records, by limit."""
    counted = counted_by(records)
    return {name: amount for name, amount in counted.items() if not is_usage(name)}


def usage_by(records: Sequence[JournalRecord]) -> dict[str, Usage]:
    """What its model calls had used by then, by the paths of the nodes that made them."""
    return usage_by_path(counted_by(records))


def counted_by(records: Sequence[JournalRecord]) -> dict[str, float]:
    """Both, as amounts by name."""
    if records and "used" in records[-1].data:
        return dict(records[-1].data["used"])
    used: dict[str, float] = {}
    for record in records:
        for limit, amount in record.data.get("spent", {}).items():
            used[limit] = used.get(limit, 0) + amount
        if "seconds" in record.data:
            used["seconds"] = record.data["seconds"]
    return used


async def fork(
    engine: Engine[Any],
    store: Store,
    run_id: str,
    at: int,
    update: Mapping[str, Any] | None,
    new_id: str,
) -> None:
    """Store a new run that goes on from a record of another; nobody drives it yet.

    Raises:
        LookupError: There is no such run or record, or nothing can follow it.
        ContractError: The update cannot be made.
        RunConflict: There is a run of the new id already, or the other one is of another workflow.
    """
    found = await store.find(run_id=run_id)
    if not found:
        raise LookupError(f"there is no run {run_id!r}")
    workflow = engine.workflow
    same_workflow(run_id, workflow, found[0])
    entries = await store.read(run_id, after=0)
    written = forked(workflow.plan, entries, run_id=run_id, at=at, new_id=new_id, update=update)
    new = NewRun(
        workflow_id=workflow.id,
        workflow_version=workflow.version,
        fingerprint=workflow.fingerprint,
        created=engine.clock.now(),
    )
    with anyio.CancelScope(shield=True):
        claim = await store.claim(new_id, new=new)
        if not isinstance(claim, Claim) or claim.info.last:
            if isinstance(claim, Claim):
                await store.append(claim, [], status="interrupted")
            raise RunConflict(f"there is a run {new_id!r} already; give the fork another id")
        await Journal(store, claim, ()).write_all(written, status="interrupted")


async def cancel(store: Store, run_id: str, reason: object) -> bool:
    """Cancel a stored run that nobody drives; tells whether it was waiting or interrupted."""
    with anyio.CancelScope(shield=True):
        claim = await store.claim(run_id, suspended=True)
        if not isinstance(claim, Claim):
            return False
        try:
            entries = await store.read(run_id, after=0)
            journal = Journal(store, claim, entries)
            body = end_body(None, RunCancelled(reason), counted_by(history(entries)))
            await journal.write("ended", body, status="cancelled")
        except BaseException:
            await give_back(store, claim)
            raise
    return True


async def drain(engine: Engine[Any], runs: Sequence[Run[Any]], deadline: float) -> None:
    """Stop runs between two visits if they get there within `deadline` seconds, and where they are if they do not."""
    reason = "the engine was drained"
    if engine.store is not None:
        for run in runs:
            run.part(reason)
    async with anyio.create_task_group() as waiting:

        async def settle() -> None:
            for run in runs:
                await run.settled()
            waiting.cancel_scope.cancel()

        waiting.start_soon(settle)
        await engine.clock.sleep(deadline)
        waiting.cancel_scope.cancel()
    async with anyio.create_task_group() as stopping:
        for run in runs:
            stopping.start_soon(run.stop, reason)


async def recover(
    engine: Engine[Any], store: Store, at_once: int, options: ResumeOptions
) -> dict[str, Run[Any]]:
    """Go on with the runs of an engine's workflow that nobody drives, and wait until they have stopped."""
    interrupted = await store.find(status="interrupted", limit=_ALL)
    due = await store.find(due=engine.clock.now(), limit=_ALL)
    runs: dict[str, Run[Any]] = {}
    places = anyio.CapacityLimiter(at_once)

    async def go_on(run_id: str) -> None:
        async with places:
            if engine.closed:
                return
            async with engine.start(run_id=run_id, **options) as run:
                runs[run_id] = run
                await run.settled()

    async with anyio.create_task_group() as group:
        for info in (*interrupted, *due):
            mine = info.workflow_id == engine.workflow.id and engine.get(info.run_id) is None
            # Of a run without an entry not even the input is known: it begins when it is asked for again.
            if mine and info.last:
                group.start_soon(go_on, info.run_id)
    return runs


_ALL: Final = 1_000_000
"""More runs than one engine goes on with."""


_PRUNABLE: Final = frozenset(get_args(StoredStatus)) - {"running"}


async def prune(
    store: Store,
    now: datetime,
    older_than: datetime | timedelta | None,
    statuses: Collection[StoredStatus],
) -> int:
    """Delete stored runs that nobody drives.

    Raises:
        ValueError: A status is none, or is `running`.
    """
    wrong = sorted(set(statuses) - _PRUNABLE)
    if wrong:
        known = ", ".join(sorted(_PRUNABLE))
        raise ValueError(f"runs of the status {wrong[0]!r} cannot be pruned; there are {known}")
    before = now - older_than if isinstance(older_than, timedelta) else older_than
    return await store.prune(older_than=before, statuses=statuses)


class Known(Awaitable[bool]):
    """An answer that is known already; unlike a coroutine, it may be left unasked for."""

    def __init__(self, value: bool) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, None, bool]:
        yield from ()
        return self._value
