"""One model call: let through, sent, received chunk by chunk, collected, counted, parsed; and always cleaned up.

Nothing is executed on seeing a chunk, and nothing is read ahead: the next chunk is asked for when the last one has been taken.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.errors import AgentflowError, BudgetExceeded, DeliveryError, ModelError
from agentflow.graph.frozen import freeze
from agentflow.messages.chunk import Chunk, FinishChunk, UsageChunk
from agentflow.messages.collector import Collector
from agentflow.messages.message import Message
from agentflow.models.limits import admit, input_tokens, settle
from agentflow.models.ports import ModelContext
from agentflow.models.replay import chunks_of
from agentflow.models.request import ModelRequest
from agentflow.run.effects import emit, performing
from agentflow.run.ports import Invocation, Reply

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Performance

__all__ = ["Answer", "ModelCall"]

_CLOSING: Final = 0.03
"""Seconds that a provider gets to close its stream when the run is cancelled; less than what the run itself waits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave, before a transport reads it: the record of the effect."""

    message: Message
    invocation: Invocation


class ModelCall:
    """One call of a model by one visit.

    Args:
        ctx: The visit.
        request: What is asked.
        key: The key of the effect, and the id of the call.
    """

    __slots__ = (
        "_answer",
        "_began",
        "_collector",
        "_ctx",
        "_key",
        "_performance",
        "_request",
        "_sent",
        "_settled",
        "_tokens",
    )

    def __init__(self, ctx: NodeContext, request: ModelRequest, key: str) -> None:
        self._ctx = ctx
        self._request = request
        self._key = key
        self._collector = Collector(key)
        self._answer: Answer | None = None
        self._tokens: int | None = None
        self._sent = False
        self._settled = False
        self._began = 0.0
        self._performance: Performance

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """The chunks as they come, each one delivered to the sink first. Close it when you leave it early."""
        request = self._request
        async with performing(self._ctx, "model", self._key, request.identity()) as performance:
            if performance.recorded:
                self._answer = performance.value
                for chunk in chunks_of(performance.value.message):
                    yield chunk
                return
            self._performance = performance
            try:
                await self._send()
                async with _closing(await self._open()) as stream:
                    async for chunk in stream:
                        await self._take(chunk)
                        yield chunk
                message = self._collector.message()
                self._settle(partial=False)
                await performance.keep(Answer(message, self._invocation()))
            except BaseException as error:
                raised = self._failed(error)
                if raised is error:
                    raise
                raise raised from error
            self._answer = performance.value

    def reply(self) -> Reply:
        """The parsed value of an answer that has come whole, and the record of the call.

        Raises:
            OutputInvalid: The answer does not keep the transport's contract.
        """
        answer = self._answer
        if answer is None:
            raise ModelError(f"model {self._request.model.name!r}: the answer has not come whole")
        invocation = answer.invocation
        try:
            value = self._request.transport.parse(answer.message)
        except Exception as error:
            self._tell_failed(error, invocation)
            raise
        data = {
            "model": invocation.name,
            "usage": invocation.usage,
            "finish_reason": invocation.finish_reason,
        }
        self._emit("model.completed", data, value)
        return Reply(value, invocation)

    async def _send(self) -> None:
        ctx, request = self._ctx, self._request
        self._tokens = await input_tokens(request)
        admit(ctx, request, self._tokens, self._performance)
        self._sent = True
        self._began = ctx.run.monotonic()
        data = {"model": request.model.name, "transport": request.transport.name}
        self._emit("model.started", data)

    async def _open(self) -> AsyncIterator[Chunk]:
        ctx, request = self._ctx, self._request
        context = ModelContext(
            signal=ctx.signal,
            run_id=ctx.run_id,
            node_id=ctx.node_id,
            call_id=self._key,
            transport=request.transport.name,
            tools=request.tools,
            tool_choice=request.tool_choice,
            max_output_tokens=request.max_output_tokens,
            output_schema=request.output_schema,
            parameters=request.parameters,
        )
        stream: Any = request.model.provider.stream(request.messages, context)
        if inspect.isawaitable(stream):
            stream = await stream
        if not hasattr(stream, "__aiter__"):
            raise ModelError(
                f"its stream() gave {type(stream).__name__}, which is no async iterator"
            )
        found: AsyncIterator[Chunk] = aiter(stream)
        return found

    async def _take(self, chunk: Chunk) -> None:
        """Count a chunk, and hand it on; one that is too much is not handed on."""
        ctx = self._ctx
        size = self._collector.add(chunk)
        if size:
            self._performance.note("output_chars", size)
        if isinstance(chunk, UsageChunk | FinishChunk):
            return
        sink = ctx.run.sink
        if sink is not None:
            try:
                await sink.send(replace(chunk, origin=self._key))
            except Exception as error:
                raise DeliveryError(
                    f"node {ctx.node_id!r}: the sink failed to take a chunk: {type(error).__name__}: {error}"
                ) from error
        self._emit("model.chunk", {"type": chunk.type}, chunk)

    def _settle(self, *, partial: bool) -> None:
        if not self._settled:
            self._settled = True
            settle(self._ctx, self._request, self._usage(), self._performance, partial=partial)

    def _usage(self) -> dict[str, float]:
        counted = {} if self._tokens is None else {"input_tokens": self._tokens}
        return {**counted, **self._collector.usage}

    def _invocation(self, *, partial: bool = False) -> Invocation:
        chars = {"input_chars": self._request.chars, "output_chars": self._collector.chars}
        return Invocation(
            id=self._key,
            kind="model",
            name=self._request.model.name,
            node_id=self._ctx.node_id,
            usage=freeze({**chars, **self._usage()}),
            partial=partial,
            finish_reason=self._collector.finish_reason,
            seconds=self._ctx.run.monotonic() - self._began,
        )

    def _failed(self, error: BaseException) -> BaseException:
        """What the caller gets for an error; a call that was sent is told and counted as far as it came."""
        if not self._sent:
            return error
        # The error stands, whatever limit the figures pass.
        with suppress(BudgetExceeded):
            self._settle(partial=True)
        invocation = self._invocation(partial=True)
        raised = error
        if isinstance(error, ModelError):
            raised = ModelError(f"model {invocation.name!r}: {error}", invocation=invocation)
        elif isinstance(error, Exception) and not isinstance(error, AgentflowError):
            text = f"model {invocation.name!r} failed: {type(error).__name__}: {error}"
            raised = ModelError(text, invocation=invocation)
        self._tell_failed(raised, invocation)
        return raised

    def _tell_failed(self, error: BaseException, invocation: Invocation) -> None:
        message = str(error)
        if isinstance(error, GeneratorExit):
            message = "the reader left before the end of the answer"
        data = {
            "model": invocation.name,
            "error": type(error).__name__,
            "message": message,
            "usage": invocation.usage,
        }
        self._emit("model.failed", data)

    def _emit(self, kind: str, data: dict[str, Any], content: Any = None) -> None:
        # An answer from the record is told as a replayed effect; no model was called.
        if self._sent:
            emit(self._ctx, kind, data=data, content=content, call_id=self._key)


@asynccontextmanager
async def _closing(stream: AsyncIterator[Chunk]) -> AsyncIterator[AsyncIterator[Chunk]]:
    """The provider's iterator, closed on every way out; also when the task is cancelled, then within limits."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is None:
            pass
        elif isinstance(sys.exception(), anyio.get_cancelled_exc_class()):
            with anyio.move_on_after(_CLOSING, shield=True), suppress(Exception):
                await close()
        else:
            await close()
