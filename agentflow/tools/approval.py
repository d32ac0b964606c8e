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
from agentflow.tools.json_contract import references

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.tools.context import ToolContext
    from agentflow.tools.tool import Tool

__all__ = ["answer_schema", "approve", "may_want_approval", "wants_approval"]

_EXPIRED: Final = {"approved": False, "reason": "nobody answered in time"}


def answer_schema(tool: Tool) -> dict[str, Any]:
    """What an approval is answered with: yes or no, or an object that gives a reason or other arguments besides.

    Other arguments are those of the tool, so that a slip of whoever approves is told to them, and the run goes on waiting.
    """
    arguments: dict[str, Any] = {"type": "object"}
    if _stands_alone(tool.parameters):
        # With an id of its own, what it refers to is looked for inside of it.
        arguments = {**tool.parameters, "$id": "urn:agentflow:arguments"}
    given = {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "arguments": arguments,
    }
    return {
        "anyOf": [
            {"type": "boolean"},
            {
                "type": "object",
                "properties": given,
                "required": ["approved"],
                "additionalProperties": False,
            },
        ]
    }


def _stands_alone(schema: Mapping[str, Any]) -> bool:
    """Whether a schema means the same inside of another one; of a server's, which may be in any dialect, the call itself tells."""
    known = {f"#/$defs/{name}" for name in schema.get("$defs", ())}
    return schema.get("$schema", _DIALECT) == _DIALECT and known.issuperset(references(schema))


_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


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
        return request_of(ctx.node, key, shown, None).id in journal.asked
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
        key, shown, schema=answer_schema(tool), timeout=tool.approval_timeout, default=_EXPIRED
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
