"""What middleware, guardrails and hooks see of the call that they stand around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.agents.system_context import SystemContext
    from agentflow.run.context import NodeContext
    from agentflow.run.run import Run
    from agentflow.run.signal import CancelSignal

__all__ = ["CallView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """The call, as those around it see it.

    Args:
        run: The run, the same object for everybody.
        run_id: The id of the agent's own run; of a sub-agent, one below the run.
        attempt: Which attempt it is, from 1; a further one is made when middleware asks for it.
        feedback: What was wrong with the attempt before.
    """

    run: Run[Any]
    run_id: str
    attempt: int = 1
    feedback: str | None = None

    @classmethod
    def of(cls, ctx: NodeContext, *, attempt: int = 1, feedback: str | None = None) -> CallView:
        """The view of the agent's call that a visit belongs to."""
        return cls(run=ctx.run, run_id=call_id(ctx), attempt=attempt, feedback=feedback)

    @property
    def retry_count(self) -> int:
        """How many attempts were made before."""
        return self.attempt - 1

    @property
    def context(self) -> dict[str, Any]:
        """The caller's own map."""
        return self.run.context

    @property
    def system_context(self) -> SystemContext:
        """What the framework keeps of the call, apart from that map: the agent, what was said, and what is being written."""
        # Only now: it looks at what is kept for views, which is further up.
        from agentflow.agents.system_context import SystemContext

        return SystemContext(self)

    @property
    def identity(self) -> Any:
        """Who this is for, set by the host."""
        return self.run.identity

    @property
    def deps(self) -> Any:
        """The live objects that the caller gave to the run."""
        return self.run.deps

    @property
    def signal(self) -> CancelSignal:
        """Cancelled when the run is."""
        return self.run.signal

    @property
    def log(self) -> Any:
        """A structlog logger that knows the run."""
        import structlog

        return structlog.get_logger("agentflow").bind(run_id=self.run_id)


def call_id(ctx: NodeContext) -> str:
    """The id of the agent's own run: where its workflow stands around its loop, that of the workflow."""
    frame = ctx.frame
    while frame.above is not None and frame.run is frame.above.frame.run:
        frame = frame.above.frame
    return frame.id
