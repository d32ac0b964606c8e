"""Attaching to a run by its id: a new one begins, an interrupted one goes on, a driven one is awaited, an ended one is told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.errors import (
    ContractError,
    ResumeConflict,
    RunConflict,
    RunSuspended,
    StoreError,
)
from agentflow.run.beginning import private_of, started_body, stored_input, whole_input
from agentflow.run.ended import Ended, ended
from agentflow.run.entries import ENDED, Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.run.first_state import supplied
from agentflow.run.journal import Journal
from agentflow.run.lineage import definition_data, is_changed
from agentflow.run.stored import restored, stored, stored_time
from agentflow.run.suspension import Suspension, answers_for, last_suspension

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = ["ATTACHED", "UNANSWERED", "attach", "give_back", "same_workflow"]


class _Given(Enum):
    ATTACHED = "no answer is meant"
    UNANSWERED = "no answer was given"


ATTACHED: Final = _Given.ATTACHED
"""In place of answers: the run is asked for, whatever its status."""

UNANSWERED: Final = _Given.UNANSWERED
"""In place of answers: the run is resumed without any; for `None` is an answer."""

_POLL: Final = 0.2
"""Seconds between two looks at a run that is driven elsewhere."""

_Attached = tuple[Journal | Ended, Mapping[str, Any] | None]


async def attach(
    run: Run[Any],
    store: Store,
    input: Mapping[str, Any] | None,
    private: Mapping[str, Any],
    answers: Any,
) -> _Attached:
    """Claim a run and open its journal; or find out how it ended. Gives the run's input too.

    Args:
        run: The run.
        store: Where it is.
        input: What it is asked for with.
        private: Private fields that are given apart from the input.
        answers: What is answered; or `ATTACHED`, `UNANSWERED`.

    Raises:
        RunSuspended: It waits, and nobody answers.
        ResumeConflict: It is answered, but waits no more.
        ContractError: An answer or a private field is not what is wanted, and the run is left as it is; or the input cannot
            be stored.
        RunConflict: The id belongs to a run of another workflow or with another input.
        IncompatibleRun: What is stored cannot be restored by the code of today.
        StoreError: The store cannot be read or written.
    """
    plan = run.workflow.plan
    run.supplied = supplied(plan, private_of(plan, input, private))
    if answers is not ATTACHED:
        return await _resume(run, store, answers)
    # Before anything is claimed: what cannot be stored must leave nothing behind.
    begin = await _beginning(run, store, input)
    given = begin["input"]
    workflow = run.workflow
    new = NewRun(
        workflow_id=workflow.id,
        workflow_version=workflow.version,
        fingerprint=workflow.fingerprint,
        created=run.clock.now(),
    )
    known = False
    while True:
        # Not to be cut between the claim and its use: nobody would drive the run, and nobody could claim it.
        with anyio.CancelScope(shield=True):
            found = await store.claim(run.id, new=new)
            if isinstance(found, Claim):
                return await _open(run, store, found, whole_input(input, private), begin)
        info = found
        assert isinstance(info, RunInfo)
        same_workflow(run.id, run.workflow, info)
        if info.status in ENDED or info.status == "suspended":
            entries = await store.read(run.id, after=0)
            _same_input(run, _input_of(entries), given)
            if info.status in ENDED:
                return ended(run.id, run.workflow.plan, entries), input
            _due(run, last_suspension(entries))
            with anyio.CancelScope(shield=True):
                claim = await store.claim(run.id, suspended=True)
                if isinstance(claim, Claim):
                    return await _open(run, store, claim, input, begin)
        elif not known:
            entries = await store.read(run.id)
            # Whoever drives it may not have got so far as to write the input.
            known = bool(entries)
            if known:
                _same_input(run, _input_of(entries), given)
        # Somebody alive drives it: wait for what comes of it.
        await run.pause()
        await run.clock.sleep(_POLL)


async def _beginning(run: Run[Any], store: Store, input: Any) -> dict[str, Any]:
    """What the run begins with, if it has not begun."""
    plan = run.workflow.plan
    try:
        return started_body(run.id, plan, input)
    except ContractError:
        # One that has begun does not care what has become of the defaults since.
        if not await store.find(run_id=run.id):
            raise
        given = stored_input(run.id, plan, input)
        return {"input": given, "defaults": {}, "definition": definition_data(plan.workflow)}


async def _open(
    run: Run[Any],
    store: Store,
    claim: Claim,
    input: Mapping[str, Any] | None,
    begin: Mapping[str, Any] | None,
    answers: Mapping[str, Any] | None = None,
) -> _Attached:
    """The journal of a run that was claimed; it is given back if that fails."""
    try:
        same_workflow(run.id, run.workflow, claim.info)
        entries = await store.read(run.id) if claim.info.last else ()
        journal = Journal(store, claim, entries)
        if journal.started is None:
            assert begin is not None
            journal.started = begin
            await journal.write("started", begin)
            return journal, input
        known = journal.started["input"]
        _same_input(run, known, None if begin is None else begin["input"])
        written: list[tuple[str, dict[str, Any]]] = [("resumed", {"epoch": claim.epoch})]
        for id, value in (answers or {}).items():
            written.append(("answered", {"request": id, "value": value}))
        if is_changed(run.workflow, journal.definition):
            from agentflow.run.upgrade import upgraded

            written = await upgraded(run.workflow, claim.info, entries, written)
        # The state of a migration stands for all that came before.
        needed = not journal.migrated and written[-1][0] != "migrated"
        input = restored("the input", known) if needed and known is not None else None
        await journal.write_all(written)
        for kind, body in written:
            journal.note(kind, body)
    except BaseException:
        await give_back(store, claim)
        raise
    return journal, input


async def give_back(store: Store, claim: Claim) -> None:
    """Let go of a run that was claimed in vain, as what its journal says that it is.

    It is not always what it was: what was written just now may be there or not, and others may have gone on with it before.
    """
    status: StoredStatus = "interrupted"
    due = None
    with contextlib.suppress(StoreError):
        entries = await store.read(claim.run_id, after=max(0, claim.info.last - 1))
        if entries and entries[-1].kind == "suspended":
            status, due = "suspended", stored_time(json.loads(entries[-1].body)["due"])
    with contextlib.suppress(StoreError):
        await store.append(claim, [], status=status, due=due)


async def _resume(run: Run[Any], store: Store, given: Any) -> _Attached:
    """Answer a suspended run, and claim it: whoever comes second is told so, and nothing has run for them."""
    found = await store.find(run_id=run.id)
    if not found:
        raise ContractError(f"there is no run {run.id!r}")
    info = found[0]
    same_workflow(run.id, run.workflow, info)
    entries = await store.read(run.id, after=0)
    waiting = last_suspension(entries)
    # A driver that died before it could use the answer has left the run interrupted, and the question open.
    unanswered = info.status == "interrupted" and waiting.open
    if info.status != "suspended" and not unanswered:
        raise ResumeConflict(f"run {run.id!r} does not wait for an answer: it is {info.status}")
    if given is UNANSWERED:
        _due(run, waiting)
        answers = {}
    else:
        answers = {
            id: stored(f"the answer to {id}", answer)
            for id, answer in answers_for(run.id, waiting, given).items()
        }
    with anyio.CancelScope(shield=True):
        claim = await store.claim(run.id, suspended=True)
        if not isinstance(claim, Claim):
            raise ResumeConflict(f"run {run.id!r} was resumed by somebody else")
        if claim.info.last != info.last:
            await give_back(store, claim)
            raise ResumeConflict(f"run {run.id!r} was resumed by somebody else")
        journal, input = await _open(run, store, claim, None, None, answers)
    return journal, input


def _due(run: Run[Any], waiting: Suspension) -> None:
    if waiting.due is None or waiting.due > run.clock.now():
        raise RunSuspended(run.id, waiting.requests, waiting.due)


def same_workflow(run_id: str, workflow: Workflow[Any], info: RunInfo) -> None:
    """Raise `RunConflict` if a stored run is one of another workflow."""
    if info.workflow_id != workflow.id:
        raise RunConflict(
            f"run {run_id!r} is one of workflow {info.workflow_id!r}, not of {workflow.id!r}"
        )


def _input_of(entries: Sequence[Entry]) -> Any:
    body = json.loads(entries[0].body)
    # A snapshot comes first where there is one, and holds what the run was started with.
    return body.get("started", body).get("input")


def _same_input(run: Run[Any], known: Any, given: Any) -> None:
    # No input at all asks for the run, whatever it was given.
    if given is not None and known is not None and given != known:
        raise RunConflict(f"run {run.id!r} was started with another input; give it another run_id")
