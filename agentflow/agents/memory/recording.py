"""Recordings: what a turn has said so far, written beside the loop, several steps in one write."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import anyio

from agentflow.agents.call_view import CallView, call_id
from agentflow.agents.memory.owner import owner_recorded
from agentflow.agents.memory.ports import ConversationHistory
from agentflow.agents.memory.settings import Memory
from agentflow.agents.memory.turn import Thread, Turn
from agentflow.messages.message import Message
from agentflow.messages.message_list import MessageList
from agentflow.run.detached import Detached
from agentflow.run.loop import current_loop

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.ports import Clock
    from agentflow.run.run import Run

__all__ = ["Recording", "flush_recording", "record_step", "recording_of", "settle_recording"]


class Recording:
    """The record of one turn while it is made. One write is under way at a time, and takes all that was noted before it.

    Args:
        history: Keeps it.
        thread: The conversation.
        turn_id: The turn.
        clock: By which writes wait.
        debounce: Seconds that a write waits for more to write.
    """

    def __init__(
        self,
        history: ConversationHistory,
        thread: Thread,
        turn_id: str,
        *,
        clock: Clock,
        debounce: float,
    ) -> None:
        self._history = history
        self._thread = thread
        self._turn_id = turn_id
        self._clock = clock
        self._debounce = debounce
        self._loop_id = ""
        self._messages: tuple[Message, ...] = ()
        self._kept = 0
        self._task: Detached | None = None
        self._waiting = False
        self._lock = anyio.Lock()

    @property
    def status(self) -> Literal["idle", "waiting", "writing"]:
        """Whether a write waits for more to write, is under way, or neither."""
        if self._lock.locked():
            return "writing"
        waits = self._task is not None and not self._task.done.opened
        return "waiting" if waits else "idle"

    def note(self, loop_id: str, messages: Sequence[Message]) -> None:
        """Note what was said so far.

        Args:
            loop_id: Who says it; another loop is another attempt, and its record begins anew.
            messages: All of it.
        """
        if loop_id != self._loop_id:
            self._loop_id, self._kept = loop_id, 0
        self._messages = tuple(messages)

    def schedule(self) -> None:
        """Have what was noted written soon; nobody waits for it."""
        if self._task is None or self._task.done.opened:
            # Now, and not when the task begins: a call that ends before must not wait for it.
            self._waiting = True
            self._task = Detached(current_loop(), self._write_all)

    async def flush(self) -> None:
        """Write now what was noted and is not written; raises what the history raises."""
        await self.settle()
        await self._write()

    async def settle(self) -> None:
        """See a write that is under way to its end, and have none begun that waits."""
        task, self._task = self._task, None
        if task is None:
            return
        if self._waiting:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await task.done.wait()

    async def _write_all(self) -> None:
        while self._kept < len(self._messages):
            self._waiting = True
            try:
                await self._clock.sleep(self._debounce)
            finally:
                self._waiting = False
            await self._write()

    async def _write(self) -> None:
        async with self._lock:
            at, loop_id, messages = self._kept, self._loop_id, self._messages
            if at == len(messages):
                return
            await self._history.record(self._thread, Turn(self._turn_id, messages[at:]), at=at)
            if loop_id == self._loop_id:
                self._kept = len(messages)


_recordings: weakref.WeakKeyDictionary[Run[Any], dict[str, Recording]] = weakref.WeakKeyDictionary()


async def record_step(memory: Memory | None, ctx: NodeContext, said: Sequence[Message]) -> None:
    """Record what a loop has said so far, as the memory wants it.

    Args:
        memory: That of the agent.
        ctx: The visit that ends the step.
        said: The conversation of the loop.
    """
    if memory is None or not memory.records_steps:
        return
    thread = owner_recorded(ctx).thread
    if thread is None:
        return
    turn_id = call_id(ctx)
    made = _recordings.setdefault(ctx.run, {})
    if turn_id not in made:
        made[turn_id] = Recording(
            memory.history, thread, turn_id, clock=ctx.run.clock, debounce=memory.debounce
        )
    recording = made[turn_id]
    recording.note(ctx.frame.id, MessageList(said).new.messages)
    if memory.save == "step_and_wait":
        await recording.flush()
    else:
        recording.schedule()


def recording_of(run: Run[Any], run_id: str) -> Recording | None:
    """The record of a call that is being made; `None` where none was begun.

    Args:
        run: The run.
        run_id: The id of the call.
    """
    return _recordings.get(run, {}).get(run_id)


async def settle_recording(ctx: NodeContext) -> None:
    """End the recording of a call, because what it would write is about to be history."""
    recording = _recordings.get(ctx.run, {}).pop(call_id(ctx), None)
    if recording is not None:
        await recording.settle()


async def flush_recording(view: CallView, error: BaseException | None) -> None:
    """Write what a call has noted and not written, because it has ended or stopped; a failure is logged, and hides nothing.

    Args:
        view: The call.
        error: What it raised.
    """
    recording = _recordings.get(view.run, {}).pop(view.run_id, None)
    if recording is None:
        return
    try:
        await recording.flush()
    except Exception as failure:
        view.log.warning("memory not written", error=repr(failure))
        if error is not None:
            error.add_note(f"its steps could not be recorded: {type(failure).__name__}: {failure}")
