"""What the caller of a run may say besides its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.run.facts import Fact
    from agentflow.run.ports import Observer, Sink
    from agentflow.run.signal import CancelSignal

__all__ = ["ResumeOptions", "RunOptions"]


class ResumeOptions(TypedDict, total=False):
    """The options of `Engine.resume`, all of them optional.

    Attributes:
        signal: Cancels the run.
        budget: Limits besides the engine's; of a run that goes on, for what it spends before and after.
        context: A map of the caller's, shared with everything below the run.
        identity: Who the run is for.
        deps: Live objects for the nodes, such as clients and pools.
        observers: Further observers, for this run.
        sink: Where content goes, instead of the engine's sink.
    """

    signal: CancelSignal | None
    budget: Budget | None
    context: dict[str, Any] | None
    identity: Any
    deps: Any
    observers: Iterable[Observer | Callable[[Fact], Any]]
    sink: Sink | None


class RunOptions(ResumeOptions, total=False):
    """The options of `Engine.run` and `Engine.start`: those of `resume`, and an id.

    Attributes:
        run_id: An id for the run; default: a new one. With a store it is an idempotency key: a run of that id goes on, is
            awaited, or tells how it ended.
    """

    run_id: str | None
