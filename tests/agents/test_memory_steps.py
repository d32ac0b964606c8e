"""Records of steps: written beside the loop, several in one write, and whole when the call has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from agentflow import Agent, CancelSignal, ModelError, RunCancelled
from agentflow.agents import Hooks, Middleware
from agentflow.agents.memory import InMemoryHistory, Memory, Thread, Turn
from agentflow.agents.memory.recording import Recording
from agentflow.messages import Message, assistant, user
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.testing import FixedClock
from tests.agents.kit import look

U1 = Thread("u1", "t1")
MINE: Any = {"resource_id": "u1", "thread_id": "t1"}


class Told(InMemoryHistory):
    """A history that tells what was written in which order, behind a gate."""

    def __init__(self, *, closed: bool = False) -> None:
        super().__init__()
        self.log: list[Any] = []
        self.gate: anyio.Event | None = None
        self.closed = closed
        self.turn_ids: list[str] = []

    def open(self) -> None:
        self.closed = False
        if self.gate is not None:
            self.gate.set()

    async def _pass(self) -> None:
        if self.closed:
            self.gate = self.gate or anyio.Event()
            await self.gate.wait()

    async def append(self, thread: Thread, turn: Turn) -> None:
        await self._pass()
        self.log.append(("append", len(turn.messages)))
        await super().append(thread, turn)

    async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
        await self._pass()
        self.turn_ids.append(turn.id)
        self.log.append(("record", at, len(turn.messages)))
        await super().record(thread, turn, at=at)


def agent(history: Told, model: Any, save: Any, **options: Any) -> Agent:
    memory = Memory(history=history, save=save, debounce=options.pop("debounce", 3600.0))
    return Agent("helper", "Be brief.", model, [look], memory=memory, **options)


def looking(log: list[Any], steps: int, *, fail: bool = False) -> MockModel:
    """A model that looks, and answers, or fails, in its last step; each of its steps is logged."""

    def reply(request: MockRequest) -> Any:
        at = 1 + sum(m.role == "tool" for m in request.messages)
        log.append(f"step {at}")
        if at < steps:
            return call("look", at=at)
        if fail:
            raise OSError("gone")
        return "done"

    return MockModel([Rule(reply=reply)])


async def test_a_call_that_ends_at_once_does_not_wait_for_a_record_that_would() -> None:
    history = Told()
    # On trio the task of the record has not begun when the call is over; it would wait for an hour.
    with anyio.fail_after(30):
        await agent(history, looking(history.log, 1), "step").generate_text("go", **MINE)
    assert history.log == ["step 1", ("append", 2)]


@pytest.mark.rule("R070")
async def test_without_steps_nothing_is_written_before_the_end() -> None:
    history = Told()
    await agent(history, looking(history.log, 3), "finish").generate_text("go", **MINE)
    assert history.log == ["step 1", "step 2", "step 3", ("append", 6)]


@pytest.mark.rule("R070")
async def test_without_steps_nothing_is_written_of_a_call_that_fails() -> None:
    history = Told()
    model = looking(history.log, 2, fail=True)
    with pytest.raises(ModelError):
        await agent(history, model, "finish", debounce=0.0).generate_text("go", **MINE)
    assert history.log == ["step 1", "step 2"]


@pytest.mark.rule("R070", "R358")
async def test_records_that_are_put_off_are_written_together_or_with_the_turn() -> None:
    history = Told()
    await agent(history, looking(history.log, 3), "step").generate_text("go", **MINE)
    # The window is longer than the call, and the whole turn says all that the records would.
    assert history.log == ["step 1", "step 2", "step 3", ("append", 6)]


@pytest.mark.rule("R073")
async def test_whoever_wants_to_wait_has_each_step_kept_before_the_next() -> None:
    history = Told()
    await agent(history, looking(history.log, 3), "step_and_wait").generate_text("go", **MINE)
    assert history.log == [
        *("step 1", ("record", 0, 3)),
        *("step 2", ("record", 3, 2)),
        *("step 3", ("record", 5, 1)),
        ("append", 6),
    ]
    (turn_id,) = {*history.turn_ids}
    assert list(await history.recorded(U1, turn_id)) == []


@pytest.mark.rule("R072")
async def test_a_slow_history_does_not_keep_the_next_step_waiting() -> None:
    history = Told(closed=True)
    asked = agent(history, looking(history.log, 3), "step", debounce=0.0)
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            await anyio.wait_all_tasks_blocked()
            assert history.log == ["step 1", "step 2", "step 3"]
            history.open()

        group.start_soon(watch)
        await asked.generate_text("go", **MINE)
    assert history.log[-1] == ("append", 6)


@pytest.mark.rule("R067", "R358")
@pytest.mark.parametrize("save", ["step", "step_and_wait"])
async def test_a_call_that_fails_leaves_its_steps_in_the_record(save: Any) -> None:
    history = Told()
    asked = agent(history, looking([], 3, fail=True), save)
    with pytest.raises(ModelError):
        await asked.generate_text("go", **MINE)
    assert list(await history.load(U1, last=9)) == []
    (turn,) = await history.recorded(U1, history.turn_ids[0])
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant", "tool"]


async def test_a_call_that_is_cancelled_leaves_its_steps_in_the_record() -> None:
    history, signal = Told(), CancelSignal()

    async def stop(step: Any, view: Any) -> None:
        signal.cancel("enough")
        await anyio.sleep_forever()

    asked = agent(history, looking([], 3), "step", hooks=Hooks(on_step_finish=stop))
    with pytest.raises(RunCancelled):
        await asked.generate_text("go", signal=signal, **MINE)
    (turn,) = await history.recorded(U1, history.turn_ids[0])
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool"]


async def test_a_further_attempt_has_a_record_of_its_own() -> None:
    def judge(text: str, context: Any) -> str:
        if context.retry_count == 0:
            context.abort("again", retry=True)
        raise OSError("no")

    history = Told()
    strict = Middleware(output=judge)
    asked = agent(
        history,
        MockModel([Rule(reply=["first", "second"])]),
        "step_and_wait",
        middlewares=[strict],
        max_middleware_retries=1,
    )
    with pytest.raises(OSError, match="no"):
        await asked.generate_text("go", **MINE)
    (turn,) = await history.recorded(U1, history.turn_ids[0])
    assert [m.text for m in turn.messages] == ["go", "second"]


async def test_a_record_that_cannot_be_written_does_not_hide_why_the_call_failed() -> None:
    class Full(Told):
        async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
            raise OSError("disk full")

    asked = agent(Full(), looking([], 2, fail=True), "step")
    with pytest.raises(ModelError) as failed:
        await asked.generate_text("go", **MINE)
    assert "disk full" in "".join(failed.value.__notes__)


# --- by themselves -------------------------------------------------------------------------------


def recording(history: Told, clock: FixedClock) -> Recording:
    return Recording(history, U1, "turn", clock=clock, debounce=1.0)


SAID: Sequence[Message] = (user("a"), assistant("b"), user("c"), assistant("d"))


@pytest.mark.rule("R358")
async def test_three_saves_in_one_window_are_one_write() -> None:
    history, clock = Told(), FixedClock()
    made = recording(history, clock)
    for end in (1, 2, 3):
        made.note("loop", SAID[:end])
        made.schedule()
    assert history.log == []
    await anyio.wait_all_tasks_blocked()
    await anyio.wait_all_tasks_blocked()
    assert (history.log, clock.slept) == ([("record", 0, 3)], [1.0])
    made.note("loop", SAID)
    made.schedule()
    await made.settle()


@pytest.mark.rule("R358")
async def test_a_flush_has_written_everything_when_it_returns() -> None:
    history = Told()
    made = recording(history, FixedClock())
    made.note("loop", SAID[:2])
    made.schedule()
    await made.flush()
    assert history.log == [("record", 0, 2)]
    await made.flush()
    assert history.log == [("record", 0, 2)]
    made.note("loop", SAID)
    await made.flush()
    assert history.log == [("record", 0, 2), ("record", 2, 2)]


async def test_a_write_that_failed_is_made_good_by_the_next() -> None:
    class Once(Told):
        failed = False

        async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
            if not self.failed:
                self.failed = True
                raise OSError("busy")
            await super().record(thread, turn, at=at)

    history = Once()
    made = recording(history, FixedClock())
    made.note("loop", SAID[:2])
    made.schedule()
    await anyio.wait_all_tasks_blocked()
    await anyio.wait_all_tasks_blocked()
    made.note("loop", SAID)
    await made.flush()
    assert history.failed
    assert history.log == [("record", 0, 4)]
