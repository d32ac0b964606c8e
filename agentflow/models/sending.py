"""One try of a model call: the request sent to its provider, and the chunks as they come, in time."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.errors import AgentflowError, ModelError
from agentflow.messages.chunk import Chunk
from agentflow.models.failure import known_failure
from agentflow.models.patience import Patience
from agentflow.models.ports import ModelContext
from agentflow.models.request import ModelRequest

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["sent"]

_CLOSING: Final = 0.03
"""Seconds that a provider gets to close its stream when the run is cancelled; less than what the run itself waits."""


async def sent(ctx: NodeContext, request: ModelRequest, key: str) -> AsyncGenerator[Chunk, None]:
    """Send a request once, and hand out what comes; the provider's stream is closed on every way out.

    Raises:
        ModelTimeout: It took too long.
        ModelError: What the provider gave is no stream; or what it raised is known for one of ours, which it then stands for.
        Exception: What else the provider raised.
    """
    model = request.model
    patience = Patience(ctx.run, timeout=model.timeout, idle_timeout=model.idle_timeout)

    async def open() -> AsyncIterator[Chunk]:
        return await _opened(request, _told(ctx, request, key))

    with _understood():
        opened = await patience.wait(open)
    async with _closing(ctx, opened) as stream:
        while True:
            try:
                with _understood():
                    chunk = await patience.wait(stream.__anext__)
            except StopAsyncIteration:
                return
            yield chunk


@contextmanager
def _understood() -> Iterator[None]:
    """What a provider raises, as one of our errors, as far as it tells what has gone wrong."""
    try:
        yield
    except (AgentflowError, StopAsyncIteration):
        raise
    except Exception as error:
        known = known_failure(error)
        if known is None:
            raise
        raise known from error


def _told(ctx: NodeContext, request: ModelRequest, key: str) -> ModelContext:
    draft = request.draft
    return ModelContext(
        signal=ctx.signal,
        run_id=ctx.run_id,
        node_id=ctx.node_id,
        call_id=key,
        transport=draft.transport.name,
        tools=request.tools,
        tool_choice=request.tool_choice,
        max_output_tokens=draft.max_output_tokens,
        output_schema=request.form.schema,
        parameters=draft.parameters,
    )


async def _opened(request: ModelRequest, context: ModelContext) -> AsyncIterator[Chunk]:
    stream: Any = request.model.provider.stream(request.messages, context)
    if inspect.isawaitable(stream):
        stream = await stream
    if not hasattr(stream, "__aiter__"):
        raise ModelError(f"its stream() gave {type(stream).__name__}, which is no async iterator")
    found: AsyncIterator[Chunk] = aiter(stream)
    return found


@asynccontextmanager
async def _closing(
    ctx: NodeContext, stream: AsyncIterator[Chunk]
) -> AsyncIterator[AsyncIterator[Chunk]]:
    """The provider's iterator, closed on every way out; also when the task is cancelled, then within limits."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is None:
            pass
        elif _is_cancelled(ctx):
            with anyio.move_on_after(_CLOSING, shield=True), suppress(Exception):
                await close()
        else:
            await close()


def _is_cancelled(ctx: NodeContext) -> bool:
    # A cancel that has hit a reader further out comes here as the end of a generator.
    return (
        isinstance(sys.exception(), anyio.get_cancelled_exc_class())
        or ctx.signal.fired
        or anyio.current_effective_deadline() == -math.inf
    )
