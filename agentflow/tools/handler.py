"""The handler of a tool while it works: tries, time, threads, and the check of what it gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.lowlevel import RunVar

from agentflow.errors import OutputInvalid, ToolFailed
from agentflow.graph.contract import contract_error
from agentflow.run.decide import UNRECOVERABLE, unwrapped
from agentflow.run.effects import emit, is_listened_to
from agentflow.run.thread import in_thread
from agentflow.tools.context import ToolContext

if TYPE_CHECKING:
    from agentflow.run.effects import Performance
    from agentflow.tools.tool import Tool

__all__ = ["handle"]

_THREADS: Final = 100
"""Plain handlers at the same time in one loop. Not the limiter of the nodes: a node that waits for a tool holds a thread."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("agentflow_tool_threads")


async def handle(
    tool: Tool,
    given: Mapping[str, Any],
    input: dict[str, Any],
    make: Callable[[int], ToolContext],
    performance: Performance,
) -> Any:
    """Call the handler until a try succeeds, every try counted, and return its checked value.

    Args:
        tool: The tool.
        given: Its arguments as they were given: every further try starts from them, whatever the last one did to its own.
        input: The same, validated.
        make: Makes the context of a try, which begins with that; a try that cannot be paid for has none.
        performance: The effect that the call is.

    Raises:
        ToolFailed: The last try failed.
        OutputInvalid: What came back is not what the tool promises.
        BudgetExceeded: There is no tool call left.
    """
    tries = tool.retries + 1
    for attempt in range(1, tries + 1):
        if attempt > 1:
            input = tool.input.accept(given)
        performance.spend("tool_calls")
        ctx = make(attempt)
        _emit(ctx, "tool.started", {"try": attempt}, content=input)
        try:
            call = _call if tool.timeout is None else _within_time
            value = await call(tool, input, ctx)
        except Exception as raised:
            error = unwrapped(raised)
            fatal = isinstance(error, UNRECOVERABLE) or ctx.signal.fired
            again = attempt < tries and not fatal and isinstance(error, tool.retry_on)
            tell_failed(ctx, error, again=again)
            try:
                if fatal:
                    raise error from error.__cause__
                if not again:
                    text = f"tool {tool.id!r} failed: {type(error).__name__}: {error}"
                    raise ToolFailed(tool.id, text) from error
            finally:
                del error  # This frame stands in its traceback.
        except BaseException as error:
            tell_failed(ctx, error)
            raise
        else:
            return _checked(tool, value, ctx)
    raise AssertionError("a tool has at least one try")


def tell_failed(ctx: ToolContext, error: BaseException, *, again: bool = False) -> None:
    """Tell that a call, or a try of it, failed; `again` if another try follows."""
    data = {"error": type(error).__name__, "message": str(error), "again": again}
    _emit(ctx, "tool.failed", data)


def tell_completed(ctx: ToolContext, value: Any, *, cached: bool = False) -> None:
    """Tell that a call ended well; `cached` if an earlier call has given the value."""
    _emit(ctx, "tool.completed", {"cached": True} if cached else {}, content=value)


def _emit(ctx: ToolContext, kind: str, data: dict[str, Any], content: Any = None) -> None:
    if not is_listened_to(ctx.node):
        return
    emit(ctx.node, kind, data={"tool": ctx.tool_id, **data}, content=content, call_id=ctx.effect_id)


def _checked(tool: Tool, value: Any, ctx: ToolContext) -> Any:
    try:
        return tool.output.validate(value)
    except Exception as error:
        invalid = OutputInvalid(
            str(contract_error(f"the output of tool {tool.id!r}", value, error))
        )
        tell_failed(ctx, invalid)
        raise invalid from error


async def _within_time(tool: Tool, input: dict[str, Any], ctx: ToolContext) -> Any:
    with anyio.move_on_after(tool.timeout):
        return await _call(tool, input, ctx)
    raise TimeoutError(f"it took longer than its timeout of {tool.timeout:g} s")


async def _call(tool: Tool, input: dict[str, Any], ctx: ToolContext) -> Any:
    positional, named = tool.input.bind(input, ctx)
    if tool.is_async:
        return await tool.handler(*positional, **named)
    work = functools.partial(tool.handler, *positional, **named)
    return await in_thread(ctx.node, work, limiter=_threads(), tool=tool.id, call_id=ctx.effect_id)


def _threads() -> anyio.CapacityLimiter:
    try:
        return _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(_THREADS)
        _limiter.set(limiter)
        return limiter
