"""The tool calls of one model answer: every one gets exactly one result, in the order of the calls.

Everything is parsed and authorised before anything starts, and the whole batch must fit into the budget: over it, none of it
starts. What the model got wrong, and what the tools got wrong, goes back to the model; what ends the run does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from agentflow.errors import BudgetExceeded, ContractError, OutputInvalid, ToolError
from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall
from agentflow.run.decide import Suspend, unwrapped
from agentflow.run.effects import check, emit, emit_limit, keep
from agentflow.tools.calls import BoundTools, Permit
from agentflow.tools.repeats import RepeatLimit, repeats
from agentflow.tools.results import CallResults, result_text

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["result_text", "run_calls"]


async def run_calls(
    ctx: NodeContext,
    calls: Sequence[ToolCall] | CallResults,
    *,
    offered: Collection[str] | None = None,
    repeat_limit: RepeatLimit | None = None,
    history: Sequence[Message] = (),
) -> list[Message]:
    """Carry out the tool calls of a whole answer, and return one result message for each, in their order.

    Calls start in their order and run at the same time, up to the engine's `max_parallel_tools`; a tool with `parallel=False`
    waits for those before it and holds up those after it.

    Args:
        ctx: The visit that carries them out.
        calls: The calls; or where their results are to come in, for a caller who wants them however this ends.
        offered: The ids of the tools that the model was offered; default: all tools of the engine. Calls of others become
            results that say so.
        repeat_limit: How often the model may make the same call; default: as often as it likes.
        history: The conversation before the answer, from which that is known.

    Raises:
        Suspend: Some calls wait, for an approval or for what they have asked themselves; all others have been made, and are
            not made again.
        BudgetExceeded: The calls are more than what is left, or one was made too often; none of them was started.
        RunCancelled: The run was cancelled.
        ContractError: Two calls have the same id.
        BaseException: What else ends the run, such as a bail; the other calls were cancelled and have ended.
    """
    results = calls if isinstance(calls, CallResults) else CallResults(calls)
    batch = _Batch(ctx, results, offered)
    if repeat_limit is not None:
        batch.look_for_repeats(repeat_limit, history)
    ready = [item for call in results.calls if (item := await batch.prepared(call))]
    fresh = batch.tools.still_to_make(item.permit for item in ready)
    if fresh:
        check(ctx, "tool_calls", fresh)
    agreed = [made for item in ready if (made := await batch.approved(item))]
    for group in _groups(agreed):
        await batch.make(group)
    if batch.waits:
        # Only now, when the other calls have settled: theirs are recorded, and all questions are asked at once.
        raise unwrapped(BaseExceptionGroup("several calls wait", batch.waits))
    return results.messages()


class _Ready(NamedTuple):
    """A call that may be made."""

    call: ToolCall
    permit: Permit


def _groups(ready: list[_Ready]) -> Iterator[list[_Ready]]:
    """The calls that may run at the same time; one that must be alone is a group of its own."""
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


class _Batch:
    """The calls of one answer on their way: what each comes to goes into the results, and what waits is gathered."""

    def __init__(
        self, ctx: NodeContext, results: CallResults, offered: Collection[str] | None
    ) -> None:
        tools: Any = ctx.tools
        self.tools: BoundTools = tools
        self.waits: list[Suspend] = []
        self._ctx = ctx
        self._results = results
        self._offered = offered

    def look_for_repeats(self, limit: RepeatLimit, history: Sequence[Message]) -> None:
        """Have the model warned of calls that it makes again and again; raises when one is made too often."""
        calls = self._results.calls
        for call, times in zip(calls, repeats(history, calls), strict=True):
            try:
                warning = limit.warning(call, times)
            except BudgetExceeded as error:
                emit_limit(self._ctx, error)
                raise
            if warning is not None:
                self._results.warn(call, warning)
                told = {"tool": call.name, "times": times, "stop": limit.stop}
                emit(self._ctx, "tool.repeated", data=told, call_id=self.tools.key_of(call.id))

    async def prepared(self, call: ToolCall) -> _Ready | None:
        """The call with its permit; one that has none gets the result that tells the model why."""
        if call.error is not None:
            self.tools.refuse(call.name, call.id, call.error)
            self._results.fail(
                call, f"{call.error}; nothing was executed, call again with a JSON object"
            )
            return None
        try:
            if self._offered is not None and call.name not in self._offered:
                raise self.tools.unknown(call.name, call.id, self._offered)
            permit = await self.tools.prepare(call.name, call.arguments, call_id=call.id)
        except (ToolError, ContractError) as error:
            self._results.fail(call, str(error))
            return None
        return _Ready(call, permit)

    async def approved(self, item: _Ready) -> _Ready | None:
        """The call as it was agreed to; one that was refused gets its result, and one that waits is gathered."""
        try:
            permit = await self.tools.approve(item.permit)
            return item if permit is item.permit else _Ready(item.call, permit)
        except Suspend as wait:
            self.waits.append(wait)
            return None
        except (ToolError, ContractError) as error:
            self._results.fail(item.call, str(error))
            return None

    async def make(self, group: list[_Ready]) -> None:
        """Make calls at the same time; what ends the run cancels the others, and is raised when they have ended."""
        if len(group) == 1:
            await self._one(group[0])
            return
        free = anyio.Semaphore(self._ctx.run.engine.max_parallel_tools, fast_acquire=True)

        async def when_free(item: _Ready) -> None:
            await self._one(item)
            # Not where it has ended the run: then the next one must not start.
            free.release()

        try:
            async with anyio.create_task_group() as tasks:
                for item in group:
                    # Here, and not in the tasks: so they start in the order of the calls.
                    await free.acquire()
                    tasks.start_soon(when_free, item)
        except BaseExceptionGroup as several:
            error = unwrapped(several)
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            raise error from error.__cause__

    async def _one(self, item: _Ready) -> None:
        call, failed = item.call, self.tools.failure_key(item.permit)
        record = self._ctx.record
        known = None if record.is_blank else record.find(failed)
        if known is not None:
            self._results.fail(call, known.value)
            return
        try:
            receipt = await self.tools.perform(item.permit, begin=lambda: self._results.begin(call))
        except Suspend as wait:
            # It asks something itself; that must not cut short what the others are doing.
            self.waits.append(wait)
        except (ToolError, OutputInvalid) as error:
            text = str(error)
            # Recorded as a result is: while another call waits for its approval, this one must not be tried again.
            await keep(self._ctx, "tool", failed, None, text)
            self._results.fail(call, text)
        else:
            self._results.succeed(call, receipt.value)
