"""Approval: a person agrees to a tool call, changes its arguments, or refuses it; the run is suspended meanwhile.

The question is bound to the call and to its exact arguments. A call that was refused, or that nobody answered in time, is
never made: its answer is in the journal, under the question that no other call has.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentflow.errors import ContractError, ToolDenied
from agentflow.run.effects import emit
from agentflow.run.suspension import request_of

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.tools.context import ToolContext
    from agentflow.tools.tool import Tool

__all__ = ["ANSWER", "approve", "may_want_approval", "wants_approval"]

ANSWER: Final[Mapping[str, Any]] = {
    "anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "reason": {"type": "string"},
                "arguments": {"type": "object"},
            },
            "required": ["approved"],
            "additionalProperties": False,
        },
    ]
}
"""What an approval is answered with: yes or no, or an object that gives a reason or other arguments besides."""

_EXPIRED: Final = {"approved": False, "reason": "nobody answered in time"}


def may_want_approval(tool: Tool, ctx: NodeContext) -> bool:
    """Whether calls of a tool may need an approval, by its rule or because they were asked for."""
    journal = ctx.frame.run.journal
    return tool.needs_approval is not False or (journal is not None and bool(journal.asked))


async def wants_approval(
    tool: Tool, given: Mapping[str, Any], input: Mapping[str, Any], ctx: ToolContext
) -> bool:
    """Whether a call with these arguments needs an approval; yes, too, where the tool's own rule cannot say.

    Once it was asked for, it is needed: a rule that has changed its mind must not undo a refusal.
    """
    if _was_asked(tool, given, ctx):
        return True
    rule = tool.needs_approval
    if isinstance(rule, bool):
        return rule
    try:
        verdict = rule(input)
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except Exception:
        # A rule that cannot judge the arguments has not judged them harmless.
        return True
    return verdict is not False


def _was_asked(tool: Tool, given: Mapping[str, Any], ctx: ToolContext) -> bool:
    journal = ctx.node.frame.run.journal
    if journal is None or not journal.asked:
        return False
    try:
        key, shown = _question(tool, given, ctx)
        return request_of(ctx.node, key, shown, ANSWER).id in journal.asked
    except ContractError:
        # What cannot be shown was never asked.
        return False


def _question(tool: Tool, given: Mapping[str, Any], ctx: ToolContext) -> tuple[str, dict[str, Any]]:
    shown = {"tool": tool.id, "arguments": dict(given), "call_id": ctx.call_id}
    return f"approve:{ctx.effect_id}", shown


async def approve(tool: Tool, given: Mapping[str, Any], ctx: ToolContext) -> Mapping[str, Any]:
    """The arguments that the call may be made with.

    Raises:
        ToolDenied: The call was refused, or nobody answered in time.
    """
    key, shown = _question(tool, given, ctx)
    answer = await ctx.node.suspend(
        key, shown, schema=ANSWER, timeout=tool.approval_timeout, default=_EXPIRED
    )
    if isinstance(answer, bool):
        answer = {"approved": answer}
    if not answer["approved"]:
        reason = answer.get("reason", "no reason was given")
        emit(
            ctx.node, "tool.denied", data={"tool": tool.id, "reason": reason}, call_id=ctx.effect_id
        )
        raise ToolDenied(tool.id, f"tool {tool.id!r} was refused: {reason}")
    arguments: Mapping[str, Any] = answer.get("arguments", given)
    return arguments
