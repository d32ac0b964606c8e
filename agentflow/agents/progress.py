"""How far the loops of a run have come, for whoever is told of its end: a loop that broke off has no result to tell it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentflow.agents.acting import settled
from agentflow.agents.call_view import call_id
from agentflow.agents.step import Step, steps_of
from agentflow.messages.message import Message

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.run import Run

__all__ = ["note_progress", "progress_of", "state_of"]

_loops: weakref.WeakKeyDictionary[Run[Any], dict[str, Mapping[str, Any]]] = (
    weakref.WeakKeyDictionary()
)


def note_progress(ctx: NodeContext) -> None:
    """Remember the loop that a visit belongs to, as the latest of its call."""
    _loops.setdefault(ctx.run, {})[call_id(ctx)] = ctx.frame.state


def state_of(run: Run[Any], run_id: str) -> Mapping[str, Any] | None:
    """The state of the latest loop of a call, as it is now; `None` before there is one.

    Args:
        run: The run.
        run_id: The id of the call.
    """
    return _loops.get(run, {}).get(run_id)


def progress_of(
    run: Run[Any], run_id: str, *, reason: str
) -> tuple[tuple[Message, ...], tuple[Step, ...]]:
    """The conversation and the steps of a call, as far as they came; every tool call has a result.

    Args:
        run: The run.
        run_id: The id of the call.
        reason: Why it broke off, if it did.
    """
    state = state_of(run, run_id)
    if state is None:
        return (), ()
    messages = settled(state["messages"], reason)
    return messages, steps_of(state.get("steps", ()), messages)
