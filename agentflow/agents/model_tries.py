"""The tries of a model call, for those who are told of them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.hooks import Fallback, Hooks, TriedAgain, notify
from agentflow.errors import ModelError

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Invocation, Reply

__all__ = ["telling_of_tries"]


async def telling_of_tries(
    ctx: NodeContext, hooks: Sequence[Hooks], model: str | None, call: Awaitable[Reply]
) -> Reply:
    """What a model call gives; the hooks are told how often it was tried again, and by which model, also when it failed.

    Args:
        ctx: The visit that calls.
        hooks: Those of the call.
        model: The name of the model that is asked; default: the engine's own.
        call: The call.
    """
    try:
        reply = await call
    except ModelError as error:
        if hooks and error.invocation is not None:
            await _tell(ctx, hooks, model, error.invocation)
        raise
    if hooks:
        await _tell(ctx, hooks, model, reply.invocation)
    return reply


async def _tell(
    ctx: NodeContext, hooks: Sequence[Hooks], model: str | None, made: Invocation
) -> None:
    models: Any = ctx.run.models
    first, view = models.find(model).name, CallView.of(ctx)
    if made.tries > 1:
        again = TriedAgain(what="model", reason=made.name, times=made.tries - 1)
        await notify(hooks, "on_retry", again, view)
    if made.name != first:
        await notify(hooks, "on_fallback", Fallback(model=first, next=made.name), view)
