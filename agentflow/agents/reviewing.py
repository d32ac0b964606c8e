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
from agentflow.agents.structured_step import bailed_with
from agentflow.errors import ContractError, OutputInvalid
from agentflow.models.transport import structured
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
        is_text = worked.object is None and setup.output is None
        value = worked.text if is_text else worked.object
        try:
            given = await rewritten(ctx, setup.middlewares, "output", value, view)
        except MiddlewareAborted as aborted:
            streamed = ctx.run.sink is not None
            because = "its answer was handed out, and cannot be taken back" if streamed else ""
            return {"feedback": await again(setup, aborted, view, because=because)}
        if setup.output is not None and setup.rewrites_output:
            given = _of_the_type(setup.output, worked, given)
        await judge(setup.guardrails, "output", given, view, ctx=ctx)
        changed = given is not value
        return {self._kept: _with(worked, given, is_text=is_text) if changed else worked}


def _of_the_type(wanted: structured, worked: LoopResult, given: Any) -> Any:
    """The structured output after those who may rewrite it; what they have left as it is was looked at before.

    Raises:
        ContractError: Middleware gave something else for it.
        StructuredOutputNotGenerated: A tool did, and no middleware has made the type of it.
    """
    if given is worked.object:
        if worked.finish_reason != "bail":
            return given
        return bailed_with(wanted, given, len(worked.records))
    try:
        return wanted.accept(given)
    except OutputInvalid as error:
        raise ContractError(
            f"output middleware gave another value for the structured output: {error}; it gives one of the type"
        ) from error


def _with(worked: LoopResult, value: Any, *, is_text: bool) -> LoopResult:
    """The result with another answer, in its conversation too: what was rewritten must not come back from there.

    Raises:
        ContractError: Middleware gave no text for a text.
    """
    if is_text and not isinstance(value, str):
        raise ContractError(
            f"output middleware gave {type(value).__name__} for a text; it gives a text"
        )
    text = result_text(value)
    # Without a step of its own, the answer is what was put in its place.
    skipped = worked.finish_reason == "skipped" or not worked.records
    at = len(worked.messages) - 1 if skipped else worked.records[-1].at
    messages = tuple(
        saying(message, text) if place == at else message
        for place, message in enumerate(worked.messages)
    )
    changed = None if is_text else value
    return replace(worked, text=text, object=changed, messages=messages)
