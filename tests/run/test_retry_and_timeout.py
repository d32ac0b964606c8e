"""Attempts: a retry stays inside its visit, a timeout ends an attempt whatever its body does."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import (
    BudgetExceeded,
    CancelSignal,
    ContractError,
    DeliveryError,
    Divergence,
    Engine,
    Retry,
    RunCancelled,
    node,
)
from tests.run.clock import HandClock
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, unchecked


class Flaky:
    """Fails the first `times` times."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.attempts: list[int] = []
        self._times = times
        self._error = OSError("no answer") if error is None else error

    async def __call__(self, state: Any, ctx: Any) -> Any:
        self.attempts.append(ctx.attempt)
        if len(self.attempts) <= self._times:
            raise self._error
        return {"x": ctx.attempt}


async def test_a_retry_stays_inside_its_visit() -> None:
    flaky, seen = Flaky(2), Recorder()
    assert await alone(flaky, retry=Retry(3)).run(observers=[seen]) == {"x": 3}
    assert flaky.attempts == [1, 2, 3]
    assert [(fact.visit, fact.attempt) for fact in seen.of("node.started")] == [
        (1, 1),
        (1, 2),
        (1, 3),
    ]
    retried = [dict(fact.data) for fact in seen.of("node.retried")]
    assert retried == [{"error": "OSError", "message": "no answer", "delay": 0.0}] * 2


async def test_the_last_attempts_error_is_the_nodes() -> None:
    flaky, seen = Flaky(9), Recorder()
    with pytest.raises(OSError, match="no answer"):
        await alone(flaky, retry=Retry(3)).run(observers=[seen])
    assert flaky.attempts == [1, 2, 3]
    assert len(seen.of("node.failed")) == 1


async def test_an_error_node_comes_after_the_last_attempt() -> None:
    flaky = Flaky(9)

    async def recover(state: Any, ctx: Any) -> Any:
        return {"x": [ctx.failure.type, ctx.attempt]}

    workflow = unchecked(
        "w",
        nodes=[
            node(flaky, id="a", may_provide=["x"], retry=Retry(2), on_error="b", routes=[END]),
            node(recover, id="b", provides=["x"], routes=[END]),
        ],
    )
    assert await workflow.run() == {"x": ["OSError", 1]}
    assert flaky.attempts == [1, 2]


async def test_only_the_errors_that_are_worth_it_are_tried_again() -> None:
    flaky = Flaky(1, LookupError("no page"))
    with pytest.raises(LookupError):
        await alone(flaky, retry=Retry(3, on=(OSError, TimeoutError))).run()
    assert flaky.attempts == [1]


@pytest.mark.parametrize(
    "error",
    [
        ContractError("x"),
        BudgetExceeded("cost", 1, 2),
        RunCancelled("elsewhere"),
        DeliveryError("x"),
        Divergence("x"),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
async def test_what_no_one_recovers_from_is_never_tried_again(
    error: Exception, grouped: bool
) -> None:
    flaky = Flaky(1, ExceptionGroup("several", [OSError(), error]) if grouped else error)
    with pytest.raises(type(error)):
        await alone(flaky, retry=Retry(3, on=Exception)).run()
    assert flaky.attempts == [1]


async def test_a_bad_update_is_not_tried_again() -> None:
    attempts: list[int] = []

    async def body(state: Any, ctx: Any) -> Any:
        attempts.append(ctx.attempt)
        return "no mapping"

    with pytest.raises(ContractError):
        await alone(body, retry=Retry(3)).run()
    assert attempts == [1]


@pytest.mark.parametrize(
    ("backoff", "waits"), [(2.0, [2, 4, 8]), (lambda failed: failed * 10, [10, 20, 30])]
)
async def test_the_wait_between_attempts_follows_the_clock_of_the_engine(
    backoff: Any, waits: list[float]
) -> None:
    flaky, clock = Flaky(3), HandClock()
    async with Engine(alone(flaky, retry=Retry(4, backoff=backoff)), clock=clock).start() as run:
        for number, wait in enumerate(waits, 1):
            await wait_all_tasks_blocked()
            assert len(flaky.attempts) == number
            assert clock.sleeping == [wait]
            clock.move(wait)
        assert await run.result() == {"x": 4}


async def test_a_cancel_interrupts_the_wait_between_attempts() -> None:
    flaky, clock = Flaky(9), HandClock()
    async with Engine(alone(flaky, retry=Retry(9, backoff=60)), clock=clock).start() as run:
        await wait_all_tasks_blocked()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert flaky.attempts == [1]
    assert clock.sleeping == []


async def test_a_cancel_in_an_attempt_is_followed_by_no_other() -> None:
    attempts: list[int] = []

    async def body(state: Any, ctx: Any) -> None:
        attempts.append(ctx.attempt)
        ctx.run.cancel()
        raise OSError("while going down")

    seen = Recorder()
    with pytest.raises(RunCancelled):
        await alone(body, retry=Retry(3)).run(observers=[seen])
    assert attempts == [1]
    assert "node.retried" not in seen.kinds


async def test_a_cancel_between_two_attempts_is_followed_by_no_other() -> None:
    flaky, signal = Flaky(9), CancelSignal()

    def backoff(failed: int) -> float:
        signal.cancel("enough")
        return 0

    with pytest.raises(RunCancelled, match="enough"):
        await alone(flaky, retry=Retry(9, backoff=backoff)).run(signal=signal)
    assert flaky.attempts == [1]


async def test_very_many_attempts_without_wait_are_possible() -> None:
    flaky = Flaky(1100)
    assert await alone(flaky, retry=Retry(1101)).run() == {"x": 1101}


class TestTimeout:
    """A timeout is an error of the node, and its attempt is over."""

    async def timed_out(self, workflow: Any, reached: Any, seen: Recorder) -> None:
        clock = HandClock()
        async with Engine(workflow, clock=clock, observers=[seen]).start() as run:
            await reached()
            await wait_all_tasks_blocked()
            clock.move(5)
            with pytest.raises(
                TimeoutError, match="node 'only' took longer than its timeout of 5 s"
            ):
                await run.result()
            assert run.status == "failed"
            assert dict(run.state) == {}
        assert clock.sleeping == []

    async def test_a_body_that_waits_too_long_is_interrupted(self) -> None:
        reached, left = anyio.Event(), anyio.Event()

        async def body(state: Any) -> None:
            try:
                reached.set()
                await anyio.sleep_forever()
            finally:
                left.set()

        seen = Recorder()
        await self.timed_out(alone(body, timeout=5), reached.wait, seen)
        assert left.is_set()
        assert "thread.abandoned" not in seen.kinds

    @pytest.mark.parametrize("how", ["value", "error"])
    async def test_a_body_that_swallows_its_timeout_is_late_all_the_same(self, how: str) -> None:
        reached = anyio.Event()

        async def body(state: Any) -> Any:
            try:
                reached.set()
                await anyio.sleep_forever()
            except BaseException:
                if how == "error":
                    raise OSError("something else") from None
                return {"x": "late"}

        await self.timed_out(alone(body, timeout=5), reached.wait, Recorder())

    @pytest.mark.usefixtures("no_patience")
    async def test_a_body_that_ignores_its_timeout_is_left_behind(self) -> None:
        reached, release, ended = anyio.Event(), anyio.Event(), anyio.Event()
        kept: list[Any] = []

        async def body(state: Any, ctx: Any) -> Any:
            kept.append(ctx)
            with anyio.CancelScope(shield=True):
                reached.set()
                await release.wait()
            ended.set()
            return {"x": "late"}

        seen = Recorder()
        await self.timed_out(alone(body, timeout=5), reached.wait, seen)
        assert [fact.node_id for fact in seen.of("thread.abandoned")] == ["only"]
        assert kept[0].signal.cancelled
        with pytest.raises(RunCancelled):
            await kept[0].once("late", lambda: 1)
        release.set()
        await ended.wait()
        await wait_all_tasks_blocked()

    async def test_the_signal_of_the_attempt_is_cancelled_and_the_runs_is_not(self) -> None:
        reached = anyio.Event()
        signals: list[tuple[Any, Any]] = []

        async def body(state: Any, ctx: Any) -> None:
            signals.append((ctx.signal, ctx.run.signal))
            reached.set()
            await anyio.sleep_forever()

        await self.timed_out(alone(body, timeout=5), reached.wait, Recorder())
        assert [one.cancelled for one in signals[0]] == [True, False]
        assert "its timeout of 5 s" in str(signals[0][0].reason)

    async def test_each_attempt_has_its_own_time(self) -> None:
        clock = HandClock()
        attempts: list[int] = []

        async def body(state: Any, ctx: Any) -> Any:
            attempts.append(ctx.attempt)
            if ctx.attempt < 3:
                await anyio.sleep_forever()
            return {"x": ctx.attempt}

        workflow = alone(body, timeout=5, retry=Retry(3, on=TimeoutError))
        async with Engine(workflow, clock=clock).start() as run:
            for _ in range(2):
                await wait_all_tasks_blocked()
                clock.move(5)
            assert await run.result() == {"x": 3}
        assert attempts == [1, 2, 3]

    async def test_a_body_in_time_leaves_nothing_behind(self) -> None:
        async def body(state: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return {"x": 1}

        clock = HandClock()
        assert await Engine(alone(body, timeout=5), clock=clock).run() == {"x": 1}
        await wait_all_tasks_blocked()
        assert clock.sleeping == []

    async def test_a_timeout_of_the_machines_clock_is_kept_too(self) -> None:
        async def body(state: Any) -> None:
            await anyio.sleep_forever()

        with pytest.raises(TimeoutError):
            await alone(body, timeout=0.001).run()

    async def test_a_cancel_of_the_run_comes_before_the_timeout(self) -> None:
        reached = anyio.Event()

        async def body(state: Any) -> None:
            reached.set()
            await anyio.sleep_forever()

        clock = HandClock()
        async with Engine(alone(body, timeout=5), clock=clock).start() as run:
            await reached.wait()
            run.cancel("enough")
            with pytest.raises(RunCancelled, match="enough"):
                await run.result()
        assert clock.sleeping == []


@pytest.mark.case("P116")
async def test_a_timeout_of_a_blocking_function_is_enforced_and_tells_the_thread(
    gate: threading.Event,
) -> None:
    reached, told = threading.Event(), threading.Event()
    seen, clock = Recorder(), HandClock()

    def block(state: Any, ctx: Any) -> Any:
        reached.set()
        gate.wait()
        if ctx.signal.cancelled:
            told.set()
        return {"x": "late"}

    async with Engine(alone(block, timeout=45), clock=clock, observers=[seen]).start() as run:
        await anyio.to_thread.run_sync(reached.wait)
        await wait_all_tasks_blocked()
        clock.move(45)
        with pytest.raises(TimeoutError, match="its timeout of 45 s"):
            await run.result()
        assert dict(run.state) == {}
    assert [fact.node_id for fact in seen.of("thread.abandoned")] == ["only"]
    gate.set()
    await anyio.to_thread.run_sync(told.wait)
