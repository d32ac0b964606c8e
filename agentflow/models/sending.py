"""One try of a model call: the request sent to its provider, and the chunks as they come, in time."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import anyio

from agentflow.errors import AgentflowError, ModelError
from agentflow.messages.chunk import Chunk
from agentflow.models.failure import known_failure
from agentflow.models.patience import patience_of
from agentflow.models.ports import ModelContext
from agentflow.models.request import ModelRequest

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Sending"]

_CLOSING: Final = 0.03
"""Seconds that a provider gets to close its stream when the run is cancelled; less than what the run itself waits."""


class Sending:
    """One request, sent once; whoever opens it closes it, on every way out.

    Args:
        ctx: The visit.
        request: What is sent.
        key: The key of the call.
    """

    __slots__ = ("_ctx", "_ended", "_key", "_patience", "_request", "_stream")

    def __init__(self, ctx: NodeContext, request: ModelRequest, key: str) -> None:
        self._ctx = ctx
        self._request = request
        self._key = key
        self._patience = patience_of(ctx.run, request.model)
        self._stream: AsyncIterator[Chunk] | None = None
        self._ended = False

    async def open(self) -> None:
        """Send it; raises what `next` does.

        Raises:
            ModelError: What the provider gave is no stream.
        """
        try:
            if self._patience is None:
                self._stream = await self._opened()
            else:
                self._stream = await self._patience.wait(self._opened)
        except Exception as error:
            _raise_understood(error)

    async def next(self) -> Chunk | None:
        """The next piece of the answer; `None` at its end.

        Raises:
            ModelTimeout: It took too long.
            ModelError: What the provider raised is known for one of ours, which it then stands for.
            Exception: What else the provider raised.
        """
        assert self._stream is not None
        try:
            if self._patience is None:
                return await self._stream.__anext__()
            return await self._patience.wait(self._stream.__anext__)
        except StopAsyncIteration:
            self._ended = True
            return None
        except Exception as error:
            _raise_understood(error)

    async def close(self) -> None:
        """Close the provider's iterator; also when the task is cancelled, then within limits."""
        stream, self._stream = self._stream, None
        if self._ended and isinstance(stream, AsyncGeneratorType):
            # All of its code has run, so there is nothing that closing it could do.
            return
        close = getattr(stream, "aclose", None)
        if close is None:
            return
        if _is_cancelled(self._ctx):
            with anyio.move_on_after(_CLOSING, shield=True), suppress(Exception):
                await close()
        else:
            await close()

    async def _opened(self) -> AsyncIterator[Chunk]:
        request = self._request
        context = _told(self._ctx, request, self._key)
        stream: Any = request.model.provider.stream(request.messages, context)
        if type(stream) is not AsyncGeneratorType and inspect.isawaitable(stream):
            stream = await stream
        if not hasattr(stream, "__aiter__"):
            kind = type(stream).__name__
            raise ModelError(f"its stream() gave {kind}, which is no async iterator")
        found: AsyncIterator[Chunk] = aiter(stream)
        return found


def _raise_understood(error: Exception) -> NoReturn:
    """Raise what a provider has raised, as one of our errors, as far as it tells what has gone wrong."""
    known = None if isinstance(error, AgentflowError) else known_failure(error)
    try:
        if known is None:
            raise error
        raise known from error
    finally:
        del error, known  # This frame stands in their tracebacks.


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


def _is_cancelled(ctx: NodeContext) -> bool:
    # A cancel that has hit a reader further out comes here as the end of a generator.
    return (
        isinstance(sys.exception(), anyio.get_cancelled_exc_class())
        or ctx.signal.fired
        or anyio.current_effective_deadline() == -math.inf
    )
