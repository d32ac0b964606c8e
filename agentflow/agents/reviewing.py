"""The node that reviews what an agent's loop has come to: middleware rewrites the answer, then guardrails judge it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import judge
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.middleware import MiddlewareAborted, rewritten
from agentflow.agents.pending_request import saying
from agentflow.agents.receiving import again
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.errors import ContractError
from agentflow.tools.results import result_text

if TYPE_CHECKING:
    from agentflow.agents.guarded import GuardedState
    from agentflow.run.context import NodeContext

__all__ = ["Reviewing"]


class Reviewing:
    """The body of `review`.

    Args:
        setup: The setup of the agent.
        kept: The field for what has passed.
    """

    __slots__ = ("_kept", "_setup")

    def __init__(self, setup: LoopSetup, kept: str = "result") -> None:
        self._setup = setup
        self._kept = kept

    async def review(self, state: GuardedState, ctx: NodeContext) -> dict[str, Any]:
        """Let the answer pass those who rewrite it, then those who judge it."""
        setup = setup_in_force(self._setup, ctx)
        worked = state["worked"]
        view = CallView.of(ctx, attempt=state["attempt"], feedback=state["feedback"])
        value = worked.text if worked.object is None else worked.object
        try:
            given = await rewritten(ctx, setup.middlewares, "output", value, view)
        except MiddlewareAborted as aborted:
            streamed = ctx.run.sink is not None
            because = "its answer was handed out, and cannot be taken back" if streamed else ""
            return {"feedback": await again(setup, aborted, view, because=because)}
        await judge(setup.guardrails, "output", given, view, ctx=ctx)
        return {self._kept: worked if given is value else _with(worked, given)}


def _with(worked: LoopResult, value: Any) -> LoopResult:
    """The result with another answer, in its conversation too: what was rewritten must not come back from there.

    Raises:
        ContractError: Middleware gave no text for a text.
    """
    if worked.object is None and not isinstance(value, str):
        raise ContractError(
            f"output middleware gave {type(value).__name__} for a text; it gives a text"
        )
    text = result_text(value)
    # Without a step, the answer is what was put in its place.
    at = worked.records[-1].at if worked.records else len(worked.messages) - 1
    messages = tuple(
        saying(message, text) if place == at else message
        for place, message in enumerate(worked.messages)
    )
    changed = None if worked.object is None else value
    return replace(worked, text=text, object=changed, messages=messages)
