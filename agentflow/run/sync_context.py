"""The calls of a node context for plain functions, which run in worker threads: each runs in the loop, and is waited for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import anyio.from_thread

from agentflow.errors import RunCancelled
from agentflow.run.signal import scope_of
from agentflow.run.sublog import SubLog
from agentflow.run.thread import in_thread

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.model_ports import Measurement, PreparedCall
    from agentflow.run.ports import Receipt, Reply

__all__ = ["SyncContext"]


class SyncContext:
    """The calls of a node context for code in a worker thread: each one runs in the loop and is waited for."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx

    @property
    def model(self) -> SyncModelCalls:
        """The models."""
        return SyncModelCalls(self._ctx)

    @property
    def tools(self) -> SyncToolCalls:
        """The tools."""
        return SyncToolCalls(self._ctx)

    def report(
        self, used_model: bool | None = None, payload: Any = None, subs: SubLog | None = None
    ) -> None:
        """As `NodeContext.report`."""
        _call(self._ctx, self._ctx.report, used_model, payload, subs)

    def sub_log(self) -> SyncSubLog:
        """As `NodeContext.sub_log`."""
        return SyncSubLog(self._ctx)

    def once(self, key: str, function: Callable[[], Any]) -> Any:
        """As `NodeContext.once`; `function` runs in a worker thread if it is plain."""

        async def perform() -> Any:
            # The caller's thread waits for this one: if both took from one pool, callers alone could exhaust it.
            limiter = anyio.CapacityLimiter(1)
            return await in_thread(self._ctx, function, limiter=limiter)

        return _wait(self._ctx, self._ctx.once, key, perform)

    def suspend(self, key: str, payload: Any = None, **options: Any) -> Any:
        """As `NodeContext.suspend`."""

        async def suspend() -> Any:
            return await self._ctx.suspend(key, payload, **options)

        return _wait(self._ctx, suspend)

    def bail(self, value: Any) -> NoReturn:
        """As `NodeContext.bail`."""
        self._ctx.bail(value)


class SyncModelCalls:
    """The models, for code in a worker thread."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx

    def invoke(self, input: Any, **options: Any) -> Reply:
        """As `ctx.model.invoke`."""
        prepared = options.get("prepared")
        if isinstance(prepared, SyncPrepared):
            options["prepared"] = prepared.call

        async def invoke() -> Reply:
            return await self._ctx.model.invoke(input, **options)

        reply: Reply = _wait(self._ctx, invoke)
        return reply

    def prepare(self, **options: Any) -> SyncPrepared:
        """As `ctx.model.prepare`; what it gives is measured in the same way, and given to `invoke`."""
        return SyncPrepared(
            self._ctx, _call(self._ctx, partial(self._ctx.model.prepare, **options))
        )


class SyncPrepared:
    """A prepared call, for code in a worker thread."""

    __slots__ = ("_ctx", "call")

    def __init__(self, ctx: NodeContext, call: PreparedCall) -> None:
        self._ctx = ctx
        self.call = call

    def measure(self, input: Any) -> Measurement:
        """As the prepared call's own `measure`."""
        found: Measurement = _wait(self._ctx, self.call.measure, input)
        return found


class SyncToolCalls:
    """The tools, for code in a worker thread."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: NodeContext) -> None:
        self._ctx = ctx

    def invoke(self, tool_id: str, input: Any = None, **options: Any) -> Receipt:
        """As `ctx.tools.invoke`."""

        async def invoke() -> Receipt:
            return await self._ctx.tools.invoke(tool_id, input, **options)

        receipt: Receipt = _wait(self._ctx, invoke)
        return receipt


class SyncSubLog(SubLog):
    """A sub log for code in a worker thread."""

    __slots__ = ()

    def write(self, intention: Any) -> int:
        number: int = _call(self.ctx, super().write, intention)
        return number

    def fix(self, number: int, result: Any = None) -> None:
        _call(self.ctx, super().fix, number, result)


def _wait(ctx: NodeContext, call: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
    if ctx.frame.run.thread is None:
        # A context for tests has no loop behind it: the call gets one of its own.
        return anyio.run(call, *args)

    async def bound() -> Any:
        # Not every loop ends the call of a thread that is left behind by itself.
        with scope_of(ctx.signal):
            return await call(*args)
        raise RunCancelled(ctx.signal.reason)

    return anyio.from_thread.run(bound)


def _call(ctx: NodeContext, call: Callable[..., Any], *args: Any) -> Any:
    if ctx.frame.run.thread is None:
        return call(*args)
    return anyio.from_thread.run_sync(call, *args)
