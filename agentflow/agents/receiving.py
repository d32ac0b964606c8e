"""The node that receives what an agent is asked: middleware rewrites it, then guardrails judge it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import judge
from agentflow.agents.hooks import TriedAgain, notify
from agentflow.agents.middleware import MiddlewareAborted, begin_attempt, rewritten
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.messages.message import Message, as_messages

if TYPE_CHECKING:
    from agentflow.agents.guarded import GuardedState
    from agentflow.run.context import NodeContext

__all__ = ["Receiving", "again"]


class Receiving:
    """The body of `receive`.

    Args:
        setup: The setup of the agent.
        retries: How many further attempts the workflow has room for.
    """

    __slots__ = ("_retries", "_setup")

    def __init__(self, setup: LoopSetup, retries: int) -> None:
        self._setup = setup
        self._retries = retries

    async def receive(self, state: GuardedState, ctx: NodeContext) -> dict[str, Any]:
        """Let the input pass those who rewrite it, then those who judge it."""
        setup = setup_in_force(self._setup, ctx)
        original = tuple(state["messages"])
        feedback = state.get("feedback")
        view = CallView.of(ctx, attempt=ctx.round, feedback=feedback)
        begin_attempt(setup.middlewares, view)
        try:
            given = await rewritten(ctx, setup.middlewares, "input", original, view)
        except MiddlewareAborted as aborted:
            reason = await again(setup, aborted, view)
            return self._received(ctx, "again", original, reason)
        asked = as_messages(given)
        before = tuple(one for one in setup.guardrails if one.when == "before")
        await judge(before, "input", asked, view, ctx=ctx)
        return self._received(ctx, "asked", asked, feedback)

    def _received(
        self, ctx: NodeContext, verdict: str, asked: Sequence[Message], feedback: str | None
    ) -> dict[str, Any]:
        update = {"attempt": ctx.round, "asked": list(asked), "feedback": feedback}
        # Where there is one attempt only, nothing hangs on the verdict.
        return {**update, "received": verdict} if self._retries else update


async def again(
    setup: LoopSetup, aborted: MiddlewareAborted, view: CallView, *, because: str = ""
) -> str:
    """The feedback for the next attempt, when there may be one.

    Args:
        setup: The setup of the agent.
        aborted: What the middleware said.
        view: The call.
        because: Why there may be none, if something stands against it.

    Raises:
        MiddlewareAborted: There is none, and the call has failed.
    """
    if not aborted.retry:
        try:
            raise aborted
        finally:
            del aborted  # This frame stands in its traceback.
    if not because and view.attempt > setup.retries:
        number = setup.retries
        because = (
            f"it asked for another attempt, and max_middleware_retries={number} allows no more"
        )
    if because:
        raise MiddlewareAborted(
            aborted.middleware, aborted.reason, retry=True, because=because
        ) from aborted
    again = TriedAgain(what="attempt", reason=aborted.reason)
    await notify(setup.hooks, "on_retry", again, view)
    return aborted.reason
