"""Authorisation: the tool's own verdict and the engine's policy must both agree; whatever goes wrong is a no."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentflow.errors import ToolDenied
from agentflow.run.decide import UNRECOVERABLE
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.tools.context import ToolContext
    from agentflow.tools.tool import Tool

__all__ = ["authorize", "is_asked"]


def is_asked(tool: Tool, ctx: NodeContext) -> bool:
    """Whether anybody has a say in the calls of a tool."""
    engine = ctx.run.engine
    own = tool.authorize is not None
    return own or engine.authorize is not None or engine.require_authorization


async def authorize(tool: Tool, input: dict[str, Any], ctx: ToolContext) -> None:
    """Let a call pass, or not.

    Raises:
        ToolDenied: The tool or the policy said no, gave no bool, or raised; or nobody spoke and somebody had to.
    """
    engine = ctx.node.run.engine
    reason = None
    if tool.authorize is None and engine.authorize is None and engine.require_authorization:
        reason = "neither the tool nor the engine has an authorize, and the engine requires one"
    if tool.authorize is not None:
        reason = await _verdict("its own authorize", _own(tool, input, ctx))
    if reason is None and engine.authorize is not None:
        policy = engine.authorize
        reason = await _verdict("the engine's policy", lambda: policy(tool, input, ctx))
    if reason is None:
        return
    emit(
        ctx.node,
        "tool.denied",
        data={"tool": tool.id, "reason": str(reason)},
        call_id=ctx.effect_id,
    )
    denied = ToolDenied(tool.id, f"tool {tool.id!r} is denied: {reason}")
    raise denied from (reason.error if isinstance(reason, _Broken) else None)


class _Broken(str):
    """The reason of a denial that an error stands behind."""

    __slots__ = ("error",)
    error: Exception


def _own(tool: Tool, input: dict[str, Any], ctx: ToolContext) -> Callable[[], Any]:
    own = tool.authorize
    if isinstance(own, bool) or own is None:
        return lambda: own
    return lambda: own(input, ctx) if tool.authorize_takes_context else own(input)


async def _verdict(who: str, ask: Callable[[], Any]) -> str | None:
    """Why not, or `None` for a yes."""
    try:
        verdict = ask()
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except UNRECOVERABLE:
        raise
    except Exception as error:
        broken = _Broken(f"{who} raised {type(error).__name__}: {error}")
        broken.error = error
        return broken
    if verdict is True:
        return None
    if verdict is False:
        return f"{who} said no"
    return f"{who} gave {verdict!r}, which is neither True nor False"
