"""The tool calls of one model answer: every one gets exactly one result, in the order of the calls.

Everything is parsed and authorised before anything starts, and the whole batch must fit into the budget: over it, none of it
starts. What the model got wrong, and what the tools got wrong, goes back to the model; what ends the run does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import ContractError, OutputInvalid, ToolError
from agentflow.messages.message import Message, tool_result
from agentflow.messages.part import ToolCall
from agentflow.run.decide import Suspend, unwrapped
from agentflow.run.effects import check, keep
from agentflow.tools.calls import BoundTools, Permit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["result_text", "run_calls"]


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """A call that may be made, and its place in the answer."""

    index: int
    permit: Permit


async def run_calls(ctx: NodeContext, calls: Sequence[ToolCall]) -> list[Message]:
    """Carry out the tool calls of a whole answer, and return one result message for each, in their order.

    Calls run at the same time, up to the engine's `max_parallel_tools`; a tool with `parallel=False` waits for those before
    it and holds up those after it.

    Raises:
        Suspend: Some calls wait for an approval; all others have been made, and are not made again.
        BudgetExceeded: The calls are more than what is left; none of them was started.
        RunCancelled: The run was cancelled.
        ContractError: Two calls have the same id.
        BaseException: What else ends the run, such as a bail; the other calls were cancelled and have ended.
    """
    seen: set[str] = set()
    for call in calls:
        if call.id in seen:
            raise ContractError(f"two tool calls of one answer have the id {call.id!r}")
        seen.add(call.id)
    tools: Any = ctx.tools
    results: dict[int, Message] = {}
    ready: list[_Ready] = []
    for index, call in enumerate(calls):
        found = await _prepared(tools, call)
        if isinstance(found, Permit):
            ready.append(_Ready(index, found))
        else:
            results[index] = found
    fresh = sum(ctx.record.find(item.permit.key) is None for item in ready)
    if fresh:
        check(ctx, "tool_calls", fresh)
    agreed, waits = await _approved(tools, ready, calls, results)
    for batch in _batches(agreed):
        await _run(ctx, tools, batch, calls, results)
    if waits:
        # Only now, when the other calls have settled: theirs are recorded, and all questions are asked at once.
        raise unwrapped(BaseExceptionGroup("several calls wait for approval", waits))
    return [results[index] for index in range(len(calls))]


async def _prepared(tools: BoundTools, call: ToolCall) -> Permit | Message:
    """The permit of a call, or the result that tells the model why it has none."""
    if call.error is not None:
        tools.refuse(call.name, call.id, call.error)
        return _error(call, f"{call.error}; nothing was executed, call again with a JSON object")
    try:
        permit = await tools.prepare(call.name, call.arguments, call_id=call.id)
    except (ToolError, ContractError) as error:
        return _error(call, str(error))
    return permit


async def _approved(
    tools: BoundTools, ready: list[_Ready], calls: Sequence[ToolCall], results: dict[int, Message]
) -> tuple[list[_Ready], list[Suspend]]:
    """The calls that may be made, and the questions that others wait for; refused ones get their result."""
    agreed: list[_Ready] = []
    waits: list[Suspend] = []
    for item in ready:
        try:
            agreed.append(_Ready(item.index, await tools.approve(item.permit)))
        except Suspend as wait:
            waits.append(wait)
        except (ToolError, ContractError) as error:
            results[item.index] = _error(calls[item.index], str(error))
    return agreed, waits


def _batches(ready: list[_Ready]) -> Iterator[list[_Ready]]:
    """The calls that may run at the same time; one that must be alone is a batch of its own."""
    together: list[_Ready] = []
    for item in ready:
        if item.permit.tool.parallel:
            together.append(item)
            continue
        if together:
            yield together
            together = []
        yield [item]
    if together:
        yield together


async def _run(
    ctx: NodeContext,
    tools: BoundTools,
    batch: list[_Ready],
    calls: Sequence[ToolCall],
    results: dict[int, Message],
) -> None:
    async def one(item: _Ready) -> None:
        call = calls[item.index]
        failed = f"{item.permit.key}:failed"
        known = ctx.record.find(failed)
        if known is not None:
            results[item.index] = _error(call, known.value)
            return
        try:
            receipt = await tools.perform(item.permit)
        except (ToolError, OutputInvalid) as error:
            text = str(error)
            # Recorded as a result is: while another call waits for its approval, this one must not be tried again.
            await keep(ctx, "tool", failed, None, text)
            results[item.index] = _error(call, text)
        else:
            results[item.index] = tool_result(call, result_text(receipt.value))

    if len(batch) == 1:
        await one(batch[0])
        return
    limiter = anyio.CapacityLimiter(ctx.run.engine.max_parallel_tools)

    async def when_free(item: _Ready) -> None:
        async with limiter:
            await one(item)

    try:
        async with anyio.create_task_group() as group:
            for item in batch:
                group.start_soon(when_free, item)
    except BaseExceptionGroup as several:
        error = unwrapped(several)
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from error.__cause__


def _error(call: ToolCall, text: str) -> Message:
    return tool_result(call, f"Error: {text}", is_error=True)


def result_text(value: Any) -> str:
    """A tool's value as a model gets to read it: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json

    return to_json(value, fallback=repr).decode()
