"""The tries of a model call, for those who are told of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.hooks import Fallback, Hooks, TriedAgain, notify
from agentflow.errors import ModelError

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Invocation, Reply

__all__ = ["told_of_tries"]


class _Call:
    """Where the reply of the call is put, once it is there."""

    reply: Reply | None = None


@asynccontextmanager
async def told_of_tries(
    ctx: NodeContext, hooks: Sequence[Hooks], model: str | None
) -> AsyncIterator[_Call]:
    """Tell the hooks how often the model call in the block was tried again, and by which model, also when it failed.

    Args:
        ctx: The visit that calls.
        hooks: Those of the call.
        model: The name of the model that is asked; default: the engine's own.
    """
    call = _Call()
    try:
        yield call
    except ModelError as error:
        if error.invocation is not None:
            await _tell(ctx, hooks, model, error.invocation)
        raise
    assert call.reply is not None
    await _tell(ctx, hooks, model, call.reply.invocation)


async def _tell(
    ctx: NodeContext, hooks: Sequence[Hooks], model: str | None, made: Invocation
) -> None:
    if not hooks:
        return
    models: Any = ctx.run.models
    first, view = models.find(model).name, CallView.of(ctx)
    if made.tries > 1:
        again = TriedAgain(what="model", reason=made.name, times=made.tries - 1)
        await notify(hooks, "on_retry", again, view)
    if made.name != first:
        await notify(hooks, "on_fallback", Fallback(model=first, next=made.name), view)
