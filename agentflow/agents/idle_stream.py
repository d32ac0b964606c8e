"""Streams that stay open until nothing goes on any more: whatever ends in the background is told to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.agents.background import STATUS
from agentflow.agents.background_task import BackgroundTask
from agentflow.agents.call_end import finish_reason_of
from agentflow.agents.events import FinishEvent, IdleEvent, StartEvent, TaskEvent
from agentflow.agents.memory.owner import owner_of
from agentflow.agents.stream import AgentStream
from agentflow.agents.trunk import opened
from agentflow.errors import BudgetExceeded
from agentflow.graph.argument import FLAG, whole
from agentflow.messages.message import Message, assistant, tool_result
from agentflow.messages.part import ToolCall

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.event_log import EventLog
    from agentflow.agents.options import Profile
    from agentflow.agents.trunk import AgentCall
    from agentflow.run.ports import Sink

__all__ = ["MOST_TURNS", "IdleStream", "stream_of"]

MOST_TURNS: Final = 20
"""How many further turns there may be: a model that begins another task in each of them must come to an end."""


class IdleStream(AgentStream):
    """A stream that lasts until all background tasks that were begun in it have ended, and the model has been told of them.

    Each end of a task opens a further turn, in the order in which they end: a call of its own, let through like any other, with
    what came of the task and no word of the user. One turn goes on at a time. What it remembers of the turns before is the memory's,
    so without one, this is a plain stream.

    Args:
        open: Opens a call: of the input, or of the given messages in the context of an earlier turn.
        caller: The caller's own sink.
        options: What the caller has said.
        most: How many further turns there may be.
    """

    def __init__(
        self,
        open: Callable[..., Awaitable[AgentCall]],
        caller: Sink | None,
        *,
        options: Mapping[str, Any],
        most: int,
    ) -> None:
        async def first(sink: Sink) -> AgentCall:
            return await open(sink, split=self._split)

        super().__init__(first, caller)
        self._continue = open
        self._options = options
        self._most = most
        self._turns = 1
        self._goes_on = False
        self._further = anyio.CancelScope()

    def _split(self, profile: Profile, context: Mapping[str, Any]) -> None:
        """Say whether there will be further turns: a model that remembers nothing would not know what they are about."""
        memory, options = profile.memory, self._options
        if memory is not None and memory.writes:
            owner = owner_of(options.get("identity"), context, options)
            self._goes_on = owner.thread is not None

    async def _made(self, call: AgentCall, log: EventLog) -> None:
        if not self._goes_on:
            await super()._made(call, log)
            return
        finish = await self._first(call, log)
        if finish.error is not None:
            return
        try:
            with self._further:
                await self._until_idle(call, finish, log)
        finally:
            self._tasks_begun().close()
            log.end(IdleEvent(turns=self._turns))

    async def _first(self, call: AgentCall, log: EventLog) -> FinishEvent:
        """The turn that the user has asked for; when it comes to nothing, there is no other."""
        finish = FinishEvent(finish_reason="cancelled")
        try:
            finish = await self._settle(call)
        finally:
            if self._error is not None:
                log.end(replace(finish, error=self._error))
        return finish

    async def _until_idle(self, call: AgentCall, finish: FinishEvent, log: EventLog) -> None:
        tasks = self._tasks_begun()
        await log.put(finish)
        while finish.error is None:
            task = await tasks.next_ended()
            if task is None:
                return
            if self._turns > self._most:
                error = BudgetExceeded("continuations", self._most, self._turns)
                finish = FinishEvent(finish_reason="error", error=error)
            else:
                self._turns += 1
                task.told = True
                await log.put(TaskEvent(task=task.id, tool=task.tool_id, status=task.status))
                finish = await self._turn(call, task)
            await log.put(finish)

    async def _turn(self, first: AgentCall, task: BackgroundTask) -> FinishEvent:
        """One further turn, which begins with what came of a task."""
        log, sink = self._begun(), self._sink()
        try:
            call = await self._continue(
                sink, _told(task, first), context=first.run.context, run_id=None
            )
            self._attach(sink, call)
            start = StartEvent(run_id=call.run.id, response_id=self._response_id(call))
            await log.put(start)
            await call.begin()
            result = await call.ended()
        except Exception as error:
            return FinishEvent(finish_reason=finish_reason_of(error), error=error)
        return FinishEvent(finish_reason=result.finish_reason)

    async def _leave(self) -> None:
        self._further.cancel()
        if not self.settled:
            await super()._leave()


def _told(task: BackgroundTask, call: AgentCall) -> tuple[Message, ...]:
    """How a task ended, as if the model had asked for it: of all that vendors take, it is what nobody has to have said."""
    id = f"{call.run.id}-{task.id}"
    asked = ToolCall(id, STATUS, {"task": task.id})
    return (
        assistant(tool_calls=[asked], provenance="input", id=f"{id}/asked"),
        tool_result(asked, task.report, is_error=task.status == "failed", id=f"{id}/told"),
    )


def stream_of(
    agent: Agent,
    input: Any,
    options: Mapping[str, Any],
    *,
    until_idle: bool,
    max_continuations: int,
) -> AgentStream:
    """The stream of a call, as `Agent.stream_text` takes it.

    Raises:
        TypeError: `until_idle` is neither `True` nor `False`.
        ValueError: `max_continuations` is no whole number of at least 0.
    """
    FLAG.check("until_idle", until_idle)
    whole(0).check("max_continuations", max_continuations)

    async def open(sink: Sink, asked: Any = input, *, split: Any = None, **said: Any) -> AgentCall:
        return await opened(agent, asked, {**options, **said}, sink=sink, split=split)

    if not until_idle:
        return AgentStream(open, options.get("sink"))
    return IdleStream(open, options.get("sink"), options=options, most=max_continuations)
