"""How a run ends: what its outcome is called, what the journal gets, and what observers are told."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from agentflow.errors import (
    AgentflowError,
    BudgetExceeded,
    ContractError,
    IncompatibleRun,
    PrivateFieldMissing,
    ResumeConflict,
    RunCancelled,
    RunInterrupted,
    RunSuspended,
    StoreError,
)
from agentflow.run.decide import Bail, Suspend, checked_result, told, unwrapped
from agentflow.run.ended import end_body
from agentflow.run.entries import StoredStatus
from agentflow.run.facts import limit_data

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan
    from agentflow.run.facts import Facts
    from agentflow.run.frame import Frame
    from agentflow.run.journal import Journal
    from agentflow.run.ledger import Ledger

__all__ = ["Ending", "cancelled", "ending_of", "record_end", "tell_end", "told_of"]


class Ending(NamedTuple):
    """The outcome of a run, or of its activity.

    Args:
        value: The result.
        error: What whoever waits gets instead.
        failed: Whether the error is a failure, whatever kind of error it is.
    """

    value: Any = None
    error: BaseException | None = None
    failed: bool = False

    @property
    def status(self) -> StoredStatus:
        """What the outcome is called."""
        if self.failed:
            return "failed"
        match self.error:
            case None:
                return "completed"
            case RunSuspended():
                return "suspended"
            case RunInterrupted() | StoreError() | IncompatibleRun() | PrivateFieldMissing():
                # Nothing has been decided: the run can go on from its last record.
                return "interrupted"
            case RunCancelled():
                return "cancelled"
        return "failed"


def ending_of(
    run_id: str, plan: Plan, value: Any, raised: BaseException | None, *, durable: bool
) -> Ending:
    """The outcome of a frame that came to a value, or raised; for runs that nobody has cancelled."""
    error = None if raised is None else unwrapped(raised)
    if error is None:
        return Ending(value)
    if isinstance(error, Suspend):
        suspended = RunSuspended(run_id, error.requests, error.due)
        suspended.__cause__ = error.refused
        return Ending(error=suspended)
    if isinstance(error, Bail):
        try:
            return Ending(checked_result(plan, error.value))
        except Exception as invalid:
            return Ending(error=invalid)
    if not isinstance(error, Exception) and _is_cancelled(error):
        # The loop itself is going down, or somebody cancelled a task that a node waited for. Nobody has asked for the end
        # of this run: one that can go on later does.
        outside: AgentflowError
        if durable:
            outside = RunInterrupted(f"run {run_id} was interrupted from outside")
        else:
            outside = RunCancelled("cancelled from outside of the run")
        outside.__cause__ = error
        return Ending(error=outside)
    return Ending(error=error, failed=_is_foreign(run_id, error, durable=durable))


def _is_foreign(run_id: str, error: BaseException, *, durable: bool) -> bool:
    """Whether it tells of another run, which a node waited for: that is no reason to suspend or interrupt this one."""
    match error:
        case RunSuspended(run_id=other) | PrivateFieldMissing(run_id=other):
            return other != run_id
        case RunInterrupted():
            return True
        case StoreError() | IncompatibleRun():
            return not durable
    return False


def told_of(error: BaseException, *, answers: bool) -> BaseException:
    """What whoever asks for an outcome is told: why an answer that was just given is none, and not only that the run waits.

    Args:
        error: What the run ended with.
        answers: Whether it was answered.
    """
    refused = error.__cause__ if isinstance(error, RunSuspended) else None
    return error if refused is None or not answers else refused


def cancelled(reason: object, raised: BaseException | None) -> Ending:
    """The outcome of a cancelled run, also when its body swallowed the cancel, or raised an error of its own."""
    error = None if raised is None else unwrapped(raised)
    if isinstance(error, RunCancelled):
        return Ending(error=error)
    made = RunCancelled(reason)
    made.__cause__ = error if isinstance(error, Exception) else None
    return Ending(error=made)


def _is_cancelled(error: BaseException) -> bool:
    try:
        return isinstance(error, anyio.get_cancelled_exc_class())
    except Exception:
        # No loop is running any more.
        return False


async def record_end(journal: Journal, ending: Ending, ledger: Ledger) -> Ending:
    """Write how the run ended, and return the outcome: another one, if that could not be written."""
    try:
        if ending.status == "interrupted":
            await journal.give_back("interrupted")
        elif ending.status == "suspended":
            await _record_suspension(journal, ending.error, ledger)
        else:
            body = end_body(ending.value, ending.error, ledger.counters())
            await journal.write("ended", body, status=ending.status)
    except ContractError as error:
        # The result, or the payload of a request, has no stored form: that is how the run ends.
        failed = Ending(error=error)
        await journal.write("ended", end_body(None, error, ledger.counters()), status="failed")
        return failed
    except StoreError as error:
        if ending.status != "interrupted":
            # The end is not there, so the run can come to it again; not if only the word of it was lost.
            with contextlib.suppress(StoreError):
                await journal.give_back("interrupted")
        return ending if isinstance(ending.error, StoreError) else Ending(error=error)
    return ending


async def _record_suspension(journal: Journal, error: Any, ledger: Ledger) -> None:
    body = {
        "places": journal.take_waiting(),
        "requests": [request.as_dict() for request in error.requests],
        "due": None if error.due is None else error.due.isoformat(),
        "used": ledger.as_dict(),
        "seconds": ledger.used("seconds"),
    }
    await journal.write("suspended", body, status="suspended", due=error.due)


async def tell_end(
    bus: Facts, frame: Frame, ending: Ending, overtime: BudgetExceeded | None
) -> None:
    """Tell observers and readers how a run ended, and let them finish.

    Args:
        bus: What tells them.
        frame: The frame of the run.
        ending: How it ended.
        overtime: The error of a run whose seconds are spent, if they are.
    """
    if overtime is not None and ending.error is overtime:
        bus.emit("limit.reached", frame, data=limit_data(overtime))
    # Who has only come too late for a run that goes on elsewhere has nothing to tell of it.
    if frame.run.journal is not None or not isinstance(ending.error, ResumeConflict):
        data = _end_data(ending, frame.ledger)
        bus.emit(f"run.{ending.status}", frame, data=data, content=ending.value)
    await bus.close()


def _end_data(ending: Ending, ledger: Ledger) -> dict[str, Any]:
    """The data of the last fact of a run."""
    data: dict[str, Any] = {"used": ledger.as_dict()}
    match ending.error:
        case None:
            return data
        case RunSuspended(requests=requests, due=due) if ending.status == "suspended":
            ids = [request.id for request in requests]
            return data | {"requests": ids, "due": None if due is None else due.isoformat()}
        case RunCancelled(reason=reason):
            return data | {"reason": None if reason is None else told(reason)}
    return data | {"error": type(ending.error).__name__, "message": told(ending.error)}
