"""Attaching to a run by its id: a new one begins, an interrupted one goes on, a driven one is awaited, an ended one is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentflow.errors import (
    AgentflowError,
    BudgetExceeded,
    ContractError,
    ResumeConflict,
    RunCancelled,
    RunConflict,
    RunFailed,
    RunSuspended,
)
from agentflow.run.decide import told
from agentflow.run.entries import ENDED, Claim, Entry, NewRun, RunInfo
from agentflow.run.fold import state_at
from agentflow.run.journal import Journal, restored, stored
from agentflow.run.suspension import Request, answers_for

if TYPE_CHECKING:
    from agentflow.graph.frozen import State
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = ["NO_ANSWERS", "Ended", "attach", "end_body"]

NO_ANSWERS: Final[Any] = object()
"""Stands for: nobody answers, the run is to go on by itself."""

_POLL: Final = 0.2
"""Seconds between two looks at a run that is driven elsewhere."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended before: what came of it, what it had spent, and the state it left."""

    value: Any
    error: Exception | None
    used: Mapping[str, float]
    state: State


async def attach(
    run: Run[Any], store: Store, input: Mapping[str, Any] | None, answers: Any
) -> tuple[Journal | Ended, Mapping[str, Any] | None]:
    """Claim a run and open its journal; or find out how it ended. Gives the run's input too.

    Raises:
        RunSuspended: It waits, and nobody answers.
        ResumeConflict: It is answered, but waits no more.
        ContractError: An answer is not what was asked for; the run goes on waiting.
        RunConflict: The id belongs to a run of another workflow or with another input.
        IncompatibleRun: What is stored cannot be restored by the code of today.
        StoreError: The store cannot be read or written.
    """
    if answers is not NO_ANSWERS:
        return await _resume(run, store, answers)
    workflow = run.workflow
    new = NewRun(
        workflow_id=workflow.id,
        workflow_version=workflow.version,
        fingerprint=workflow.fingerprint,
        created=run.clock.now(),
    )
    while True:
        found = await store.claim(run.id, new=new)
        info = found.info if isinstance(found, Claim) else found
        assert info is not None
        if info.workflow_id != workflow.id:
            raise RunConflict(
                f"run {run.id!r} is one of workflow {info.workflow_id!r}, not of {workflow.id!r}"
            )
        if isinstance(found, Claim):
            return await _open(run, store, found, input)
        if info.status in ENDED:
            return await _ended(run, store, info, input), input
        if info.status == "suspended":
            if info.due is None or info.due > run.clock.now():
                requests = _pending(await store.read(run.id, after=0))
                raise RunSuspended(run.id, requests, info.due)
            found = await store.claim(run.id, suspended=True)
            if isinstance(found, Claim):
                return await _open(run, store, found, input)
        # Somebody alive drives it: wait for what comes of it.
        await run.pause()
        await run.clock.sleep(_POLL)


async def _open(
    run: Run[Any], store: Store, claim: Claim, input: Mapping[str, Any] | None
) -> tuple[Journal, Mapping[str, Any] | None]:
    journal = Journal(store, claim, await store.read(run.id))
    if journal.started is None:
        given = _stored_input(run, input)
        journal.started = {"input": given}
        await journal.write("started", journal.started)
        return journal, input
    known = journal.started["input"]
    _same_input(run, known, input)
    await journal.write("resumed", {"epoch": claim.epoch})
    return journal, None if known is None else restored("the input", known)


async def _resume(
    run: Run[Any], store: Store, given: Any
) -> tuple[Journal, Mapping[str, Any] | None]:
    """Answer a suspended run, and claim it: whoever comes second is told so, and nothing has run for them."""
    found = await store.find(run_id=run.id)
    if not found:
        raise ContractError(f"there is no run {run.id!r}")
    if found[0].workflow_id != run.workflow.id:
        raise RunConflict(
            f"run {run.id!r} is one of workflow {found[0].workflow_id!r}, not of {run.workflow.id!r}"
        )
    if found[0].status != "suspended":
        raise ResumeConflict(f"run {run.id!r} does not wait for an answer: it is {found[0].status}")
    requests = _pending(await store.read(run.id, after=0))
    answers = {} if given is None and not requests else answers_for(requests, given)
    claim = await store.claim(run.id, suspended=True)
    if not isinstance(claim, Claim) or claim.info.last != found[0].last:
        if isinstance(claim, Claim):
            await store.append(claim, [], status="suspended", due=claim.info.due)
        raise ResumeConflict(f"run {run.id!r} was resumed by somebody else")
    journal, input = await _open(run, store, claim, None)
    for id, answer in answers.items():
        value = stored(f"the answer to {id}", answer)
        await journal.write("answered", {"request": id, "value": value})
        journal.answers[id] = answer
    return journal, input


def _pending(entries: Sequence[Entry]) -> tuple[Request, ...]:
    """The requests of the last suspension that have no answer yet."""
    requests: dict[str, Request] = {}
    for entry in entries:
        if entry.kind == "suspended":
            body = json.loads(entry.body)
            requests = {data["id"]: Request.from_dict(data) for data in body["requests"]}
        elif entry.kind == "answered":
            requests.pop(json.loads(entry.body)["request"], None)
    return tuple(requests.values())


async def _ended(
    run: Run[Any], store: Store, info: RunInfo, input: Mapping[str, Any] | None
) -> Ended:
    entries = await store.read(run.id, after=0)
    _same_input(run, json.loads(entries[0].body)["input"], input)
    body = json.loads(entries[-1].body)
    state = state_at(run.workflow.plan, entries, len(entries))
    if info.status == "completed":
        return Ended(restored("the result", body["result"]), None, body["used"], state)
    return Ended(None, _error(run.id, body), body["used"], state)


def _stored_input(run: Run[Any], input: Mapping[str, Any] | None) -> Any:
    if input is None:
        return None
    return stored(
        f"the input of run {run.id!r}", dict(input) if isinstance(input, Mapping) else input
    )


def _same_input(run: Run[Any], known: Any, input: Mapping[str, Any] | None) -> None:
    # No input at all asks for the run, whatever it was given.
    if input is not None and _stored_input(run, input) != known:
        raise RunConflict(f"run {run.id!r} was started with another input; give it another run_id")


def end_body(value: Any, error: BaseException | None, used: Mapping[str, float]) -> dict[str, Any]:
    """The body of the entry that ends a run."""
    if error is None:
        return {"result": stored("the result", value), "used": used}
    body: dict[str, Any] = {"error": type(error).__name__, "message": told(error), "used": used}
    if isinstance(error, BudgetExceeded):
        limits = {"limit": error.limit, "allowed": error.allowed, "used": error.used}
        body["budget"] = {**limits, "where": error.where}
    if isinstance(error, RunCancelled):
        body["reason"] = None if error.reason is None else told(error.reason)
    return body


def _error(run_id: str, body: Mapping[str, Any]) -> AgentflowError:
    if "budget" in body:
        budget = body["budget"]
        return BudgetExceeded(
            budget["limit"], budget["allowed"], budget["used"], where=budget["where"]
        )
    if "reason" in body:
        return RunCancelled(body["reason"])
    return RunFailed(f"run {run_id!r} has failed: {body['error']}: {body['message']}")
