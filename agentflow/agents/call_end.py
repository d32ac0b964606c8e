"""The end of a call: what came of it, and who is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import GuardrailBlocked
from agentflow.agents.hooks import CallEnd, Hooks, notify_of_end
from agentflow.agents.memory.recording import flush_recording
from agentflow.agents.middleware import MiddlewareAborted, forget
from agentflow.agents.progress import progress_of
from agentflow.agents.result import TextResult
from agentflow.errors import DeliveryError, RunCancelled, RunInterrupted, RunSuspended
from agentflow.messages.message import Message

if TYPE_CHECKING:
    from agentflow.run.ledger import Ledger

__all__ = ["finish_reason_of", "own_error", "tell_end"]


def finish_reason_of(error: BaseException) -> str:
    """Why a call that raised has ended."""
    match error:
        case RunCancelled():
            return "cancelled"
        case GuardrailBlocked():
            return "blocked"
        case RunSuspended():
            return "suspended"
        case RunInterrupted():
            return "interrupted"
    return "error"


def own_error(error: BaseException) -> BaseException:
    """The error of a call: what stands in the way of a chunk comes as the sink's failure, and is none."""
    cause = error.__cause__
    if isinstance(error, DeliveryError) and isinstance(cause, GuardrailBlocked | MiddlewareAborted):
        return cause
    return error


async def tell_end(
    hooks: Sequence[Hooks],
    view: CallView,
    asked: tuple[Message, ...],
    result: TextResult | None,
    error: BaseException | None,
    ledger: Ledger,
) -> None:
    """See to what is to be kept of a call, and tell the hooks how it ended, once.

    A call that waits, or was left where it is, has not ended.

    Args:
        hooks: Those of the call.
        view: The call.
        asked: Its input.
        result: What it has come to, or `None`.
        error: What it raised, or `None`.
        ledger: What it has spent.
    """
    forget(view.run)
    await flush_recording(view, error)
    if not hooks or isinstance(error, RunSuspended | RunInterrupted):
        return
    if result is not None:
        messages, steps, text = result.messages, result.steps, result.text
        reason: str = result.finish_reason
    else:
        assert error is not None
        reason = finish_reason_of(error)
        messages, steps = progress_of(view.run, view.run_id, reason=f"the call ended: {error}")
        text = getattr(view.run.sink, "text_so_far", "") or (steps[-1].text if steps else "")
        if reason == "blocked" or not messages:
            # What was blocked is nobody's history.
            messages, text = asked, ""
    end = CallEnd(
        finish_reason=reason,
        result=result,
        error=error,
        messages=messages,
        steps=steps,
        text=text,
        usage=ledger.usage,
    )
    await notify_of_end(hooks, end, view)
