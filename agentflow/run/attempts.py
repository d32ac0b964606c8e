"""The attempts of a visit: retries, timeouts, and plain functions in worker threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from agentflow.run.compose import perform
from agentflow.run.context import NodeContext
from agentflow.run.deadline import opens_within
from agentflow.run.decide import UNRECOVERABLE, Failure, told, unwrapped
from agentflow.run.detached import Detached
from agentflow.run.effects import emit
from agentflow.run.thread import in_thread
from agentflow.run.visit_record import VisitRecord

if TYPE_CHECKING:
    from agentflow.graph.plan import PlanNode
    from agentflow.run.frame import Frame

__all__ = ["attempt_until_done"]


async def attempt_until_done(
    frame: Frame, node: PlanNode, visit: int, failure: Failure | None
) -> Any:
    """The update of the first attempt that succeeds.

    Raises:
        Exception: What the last attempt raised.
    """
    journal = frame.run.journal
    place = frame.place(node, visit)
    frame.record = record = VisitRecord(journal, place)
    attempts = 1 if node.retry is None else node.retry.attempts
    failed = 0 if journal is None else journal.attempts_at(place)
    for attempt in range(min(failed + 1, attempts), attempts + 1):
        frame.visiting = ctx = NodeContext(frame, node, visit, attempt, failure, record)
        if frame.run.bus is not None:
            emit(ctx, "node.started")
        try:
            return await _within_time(ctx, node)
        except Exception as raised:
            if attempt == attempts or frame.signal.fired or not _worth_another(node, raised):
                raise
            delay = node.retry.delay(attempt) if node.retry else 0.0
            data = {**_told(raised), "delay": delay}
            if journal is not None:
                spent = {"spent": record.take_loose(), "seconds": frame.run.seconds}
                await journal.write("attempt", {**ctx.where, "attempt": attempt, **data, **spent})
            emit(ctx, "node.retried", data=data)
        finally:
            ctx.end()
        if delay > 0:
            await frame.run.clock.sleep(delay)
        frame.signal.raise_if_cancelled()
    raise AssertionError("a node has at least one attempt")


def _told(raised: BaseException) -> dict[str, str]:
    error = unwrapped(raised)
    return {"error": type(error).__name__, "message": told(error)}


def _worth_another(node: PlanNode, raised: BaseException) -> bool:
    error = unwrapped(raised)
    if node.retry is None or isinstance(error, UNRECOVERABLE):
        return False
    return isinstance(error, node.retry.on)


async def _within_time(ctx: NodeContext, node: PlanNode) -> Any:
    """The body within the node's timeout; in a task of its own, so that the visit can go on although the body ignores it."""
    if node.timeout is None:
        return await _body(ctx, node)
    run, signal = ctx.frame.run, ctx.derive_signal()
    message = f"node {ctx.node_id!r} took longer than its timeout of {node.timeout:g} s"
    task = Detached(run.loop, lambda: _body(ctx, node))
    ended = False
    try:
        ended = await opens_within(node.timeout, task.done, run)
    finally:
        # Also when the run itself is cancelled here: the body must not go on unnoticed.
        if not ended:
            signal.cancel(message)
            if not await task.leave():
                emit(ctx, "thread.abandoned")
    if not ended:
        raise TimeoutError(message)
    return task.outcome()


async def _body(ctx: NodeContext, node: PlanNode) -> Any:
    state = ctx.frame.state
    if ctx.frame.run.journal is not None:
        ctx.record.task = anyio.get_current_task().id
    if node.kind is not None:
        return await perform(ctx, node.kind)
    args = (state, ctx) if node.takes_context else (state,)
    if not node.threaded:
        return await node.function(*args)
    return await in_thread(ctx, lambda: node.function(*args))
