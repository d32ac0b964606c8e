"""Plain functions in worker threads: the loop goes on meanwhile, and goes on without them when it must."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["in_thread"]


async def in_thread(
    ctx: NodeContext,
    call: Callable[[], Any],
    *,
    limiter: anyio.CapacityLimiter | None = None,
    tool: str | None = None,
    call_id: str | None = None,
) -> Any:
    """Call `call` in a worker thread and return what it gives.

    A cancel leaves the thread behind, which is told; whatever comes of it is dropped.

    Args:
        ctx: The visit that wants it.
        call: A plain function. If it gives an awaitable, that is awaited in the loop: it may be a lambda around an async
            function, a mock, a decorator.
        limiter: How many threads may be at work; default: the loop's own limit.
        tool: The tool that the function belongs to.
        call_id: The call that it carries out.
    """
    # A call that still waits for a free thread leaves none behind.
    begun = ended = False

    def work() -> tuple[Any, Exception | None]:
        nonlocal begun, ended
        begun = True
        try:
            # In a box, because trio refuses a thread's coroutine; and asyncio's future would lead back from an error to itself.
            return call(), None
        except Exception as error:
            return None, error
        finally:
            ended = True

    try:
        value, error = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
    finally:
        if begun and not ended:
            data = None if tool is None else {"tool": tool}
            emit(ctx, "thread.abandoned", data=data, call_id=call_id)
    try:
        if error is not None:
            raise error
    finally:
        del error  # This frame stands in its traceback.
    return await value if inspect.isawaitable(value) else value
