"""Attaching to a run by its id: a new one begins, an interrupted one goes on, a driven one is awaited, an ended one is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentflow.errors import AgentflowError, BudgetExceeded, RunCancelled, RunConflict, RunFailed
from agentflow.run.decide import told
from agentflow.run.entries import ENDED, Claim, NewRun, RunInfo
from agentflow.run.journal import Journal, restored, stored

if TYPE_CHECKING:
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = ["Ended", "attach", "end_body"]

_POLL: Final = 0.2
"""Seconds between two looks at a run that is driven elsewhere."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended before."""

    value: Any = None
    error: Exception | None = None


async def attach(
    run: Run[Any], store: Store, input: Mapping[str, Any] | None
) -> tuple[Journal | Ended, Mapping[str, Any] | None]:
    """Claim a run and open its journal; or find out how it ended. Gives the run's input too.

    Raises:
        RunConflict: The id belongs to a run of another workflow or with another input.
        IncompatibleRun: What is stored cannot be restored by the code of today.
        StoreError: The store cannot be read or written.
    """
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
        # Somebody alive drives it: wait for what comes of it.
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


async def _ended(
    run: Run[Any], store: Store, info: RunInfo, input: Mapping[str, Any] | None
) -> Ended:
    entries = await store.read(run.id, after=0)
    _same_input(run, json.loads(entries[0].body)["input"], input)
    body = json.loads(entries[-1].body)
    if info.status == "completed":
        return Ended(restored("the result", body["result"]))
    return Ended(error=_error(run.id, body))


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


def end_body(value: Any, error: BaseException | None) -> dict[str, Any]:
    """The body of the entry that ends a run."""
    if error is None:
        return {"result": stored("the result", value)}
    body: dict[str, Any] = {"error": type(error).__name__, "message": told(error)}
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
