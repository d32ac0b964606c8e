"""The cancel signal: set once, from any thread, downwards only."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import CancelSignal, Engine, RunCancelled
from agentflow.run import signal as signals
from tests.run.workflows import alone, nothing


def set_already(signal: CancelSignal) -> bool:
    return signal.cancelled


@pytest.mark.rule("R319")
def test_a_signal_is_set_once_and_keeps_its_first_reason() -> None:
    signal = CancelSignal()
    assert not set_already(signal)
    signal.raise_if_cancelled()
    signal.cancel("first")
    signal.cancel("second")
    assert set_already(signal)
    assert signal.reason == "first"
    with pytest.raises(RunCancelled, match="first") as caught:
        signal.raise_if_cancelled()
    assert caught.value.reason == "first"


@pytest.mark.rule("R319")
def test_a_derived_signal_is_cancelled_with_its_parent_and_never_the_other_way_round() -> None:
    parent = CancelSignal()
    one, two = parent.derive(), parent.derive()
    below = one.derive()
    one.cancel("mine")
    assert (below.cancelled, below.reason) == (True, "mine")
    assert not parent.cancelled
    assert not two.cancelled
    parent.cancel("all")
    assert (two.cancelled, two.reason) == (True, "all")
    assert one.reason == "mine"


@pytest.mark.rule("R319")
def test_a_signal_derived_of_a_cancelled_one_is_cancelled() -> None:
    signal = CancelSignal()
    signal.cancel("before")
    assert signal.derive().reason == "before"
    assert CancelSignal.any(CancelSignal(), signal).reason == "before"
    assert not CancelSignal.any().cancelled


def test_derived_signals_are_kept_by_their_users_alone() -> None:
    service = CancelSignal()
    run = service.derive()
    held = weakref.ref(run)
    del run
    gc.collect()
    assert held() is None


def test_a_signal_between_two_is_kept_by_the_one_below() -> None:
    top = CancelSignal()
    bottom = top.derive().derive().derive()
    gc.collect()
    top.cancel("through")
    assert bottom.reason == "through"


async def test_waiting_ends_with_the_cancel_wherever_it_comes_from() -> None:
    signal = CancelSignal()
    done: list[str] = []

    async def wait(name: str, signal: CancelSignal) -> None:
        await signal.wait()
        done.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(wait, "itself", signal)
        group.start_soon(wait, "derived", signal.derive())
        await wait_all_tasks_blocked()
        assert done == []
        thread = threading.Thread(target=signal.cancel)
        thread.start()
        await anyio.to_thread.run_sync(thread.join)
    assert sorted(done) == ["derived", "itself"]
    await signal.wait()


async def test_a_wait_that_is_cancelled_leaves_no_subscription() -> None:
    signal = CancelSignal()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(signal.wait)
            await wait_all_tasks_blocked()
            assert len(signal._calls) == 1
            scope.cancel()
    assert signal._calls == []


async def test_a_run_leaves_no_subscription_on_the_callers_signal() -> None:
    signal = CancelSignal()
    for _ in range(3):
        await Engine(alone(nothing)).run(signal=signal)
    gc.collect()
    assert signal._calls == []
    assert not signal._children


class Time:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


async def test_a_signal_with_a_time_cancels_itself_and_all_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = Time()
    monkeypatch.setattr(signals, "time", time)
    signal = CancelSignal.after(30)
    below = CancelSignal.any(CancelSignal(), signal)
    assert below.deadline == 130
    assert not set_already(below)
    time.now = 130
    assert set_already(below)
    assert set_already(signal)
    assert signal.reason == "its time has passed"
    await signal.wait()


def test_whoever_first_sees_that_the_time_has_passed_tells_the_signals_above_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = Time()
    monkeypatch.setattr(signals, "time", time)
    timed, other = CancelSignal.after(30), CancelSignal()
    between = CancelSignal.any(other, timed)
    below = between.derive()
    time.now = 130
    assert set_already(below)
    assert (between.fired, timed.fired, other.fired) == (True, True, False)


async def test_a_run_is_cancelled_when_the_time_of_its_signal_has_passed() -> None:
    async def body(state: Any) -> None:
        await anyio.sleep_forever()

    with pytest.raises(RunCancelled, match="its time has passed"):
        await Engine(alone(body)).run(signal=CancelSignal.after(0.001))


def test_cancels_from_many_threads_call_each_listener_once() -> None:
    signal = CancelSignal()
    below = [signal.derive() for _ in range(50)]
    calls: list[int] = []
    for number, one in enumerate(below):
        one.subscribe(functools.partial(calls.append, number))
    barrier = threading.Barrier(8)

    def cancel(name: int) -> None:
        barrier.wait()
        signal.cancel(name)

    threads = [threading.Thread(target=cancel, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == list(range(50))
    assert {one.reason for one in below} == {signal.reason}


def test_a_late_subscription_is_called_at_once_and_a_taken_back_one_never() -> None:
    signal = CancelSignal()
    calls: list[str] = []

    def early() -> None:
        calls.append("early")

    signal.subscribe(early)
    signal.unsubscribe(early)
    signal.unsubscribe(early)
    signal.cancel()
    signal.subscribe(lambda: calls.append("late"))
    assert calls == ["late"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_after_the_loop_is_gone_is_nothing(backend: str) -> None:
    kept: list[Any] = []

    async def main() -> None:
        async with Engine(alone(nothing)).start() as run:
            kept.append(run)
            signal = CancelSignal()
            signal.subscribe(run._wake)
            kept.append(signal)
            await run.result()

    anyio.run(main, backend=backend)
    run, signal = kept
    run.cancel()
    signal.cancel()
    assert run.status == "completed"


class TestInterrupted:
    """A handler of a process signal runs between any two steps of its thread, and may cancel there."""

    def test_a_cancel_inside_of_the_signals_own_steps_blocks_nobody(self) -> None:
        signal = CancelSignal()

        def interrupted() -> None:
            with signal._lock:
                signal.cancel("from a handler")

        thread = threading.Thread(target=interrupted, daemon=True)
        thread.start()
        thread.join(10)
        assert signal.reason == "from a handler"

    @pytest.mark.parametrize("first", [False, True])
    def test_a_cancel_in_the_middle_of_a_subscription_is_not_lost(self, first: bool) -> None:
        signal = CancelSignal()
        calls: list[str] = []

        class Interrupted(list[Any]):
            def append(self, call: Any) -> None:
                if first:
                    signal.cancel()
                super().append(call)
                signal.cancel()

        signal._calls = Interrupted()
        signal.subscribe(lambda: calls.append("called"))
        assert "called" in calls
