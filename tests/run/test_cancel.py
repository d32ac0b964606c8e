"""Cancel: awaiting code is interrupted at once, nothing late counts, and the end stays the end."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import CancelSignal, Engine, RunCancelled, node, route
from tests.run.clock import HandClock
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


class Waiting:
    """A node's function that waits for ever, and tells when it has been reached."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.left = False

    async def __call__(self, state: Any, ctx: Any) -> None:
        self.reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left = True


async def cancelled_run(workflow: Any, waiting: Waiting, cancel: Any) -> Any:
    """Start the workflow, cancel when it waits, and give the handle of the run that ended."""
    async with Engine(workflow).start() as run:
        await waiting.reached.wait()
        cancel(run)
        with pytest.raises(RunCancelled):
            await run.result()
        return run


@pytest.mark.rule("R319")
@pytest.mark.case("P106", "P113")
async def test_a_cancel_interrupts_what_the_node_waits_for_and_stays() -> None:
    waiting = Waiting()
    run = await cancelled_run(alone(waiting), waiting, lambda run: run.cancel("enough"))
    assert waiting.left
    assert run.status == "cancelled"
    run.cancel("again")
    with pytest.raises(RunCancelled, match="enough") as caught:
        await run.result()
    assert caught.value.reason == "enough"
    assert run.status == "cancelled"


@pytest.mark.rule("R319")
@pytest.mark.parametrize("source", ["the run's", "the service's"])
async def test_either_of_two_combined_signals_cancels(source: str) -> None:
    own, service = CancelSignal(), CancelSignal()
    waiting = Waiting()
    async with Engine(alone(waiting)).start(signal=CancelSignal.any(own, service)) as run:
        await waiting.reached.wait()
        (own if source == "the run's" else service).cancel(source)
        with pytest.raises(RunCancelled, match=source):
            await run.result()


@pytest.mark.rule("R319")
async def test_cancelling_a_run_leaves_the_callers_signal_alone() -> None:
    signal = CancelSignal()
    waiting = Waiting()
    async with Engine(alone(waiting)).start(signal=signal) as run:
        await waiting.reached.wait()
        run.cancel()
    assert not signal.cancelled


@pytest.mark.case("P107")
async def test_cancelling_one_of_two_runs_leaves_the_other() -> None:
    one, two = Waiting(), Waiting()

    async def body(state: Any, ctx: Any) -> Any:
        await (one if state["x"] == 1 else two)(state, ctx)

    engine = Engine(alone(body))
    async with engine.start({"x": 1}) as first, engine.start({"x": 2}) as second:
        await one.reached.wait()
        await two.reached.wait()
        first.cancel()
        with pytest.raises(RunCancelled):
            await first.result()
        await wait_all_tasks_blocked()
        assert second.status == "running"
        assert not two.left


@pytest.mark.rule("R322")
@pytest.mark.parametrize("watched", [False, True])
async def test_a_body_that_swallows_its_cancel_commits_nothing(watched: bool) -> None:
    reached = anyio.Event()

    async def swallow(state: Any) -> Any:
        reached.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            return {"x": "late"}

    seen = Recorder()
    engine = Engine(line(swallow, nothing), observers=[seen] if watched else [])
    async with engine.start({"y": 1}) as run:
        await reached.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
        assert dict(run.state) == {"y": 1}
        assert run.status == "cancelled"
    assert "node.committed" not in seen.kinds
    assert "b" not in seen.visited()


@pytest.mark.rule("R326")
@pytest.mark.parametrize("error", [OSError("while cleaning up"), KeyError("x")])
async def test_a_body_that_fails_while_it_cleans_up_is_cancelled_all_the_same(
    error: Exception,
) -> None:
    waiting = anyio.Event()

    async def fail(state: Any) -> Any:
        try:
            waiting.set()
            await anyio.sleep_forever()
        finally:
            raise error

    workflow = unchecked(
        "w",
        nodes=[
            node(fail, id="a", routes=[END]),
            node(nothing, id="rescue", routes=[END]),
        ],
        on_error="rescue",
    )
    seen = Recorder()
    async with Engine(workflow, observers=[seen]).start() as run:
        await waiting.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough") as caught:
            await run.result()
        assert caught.value.__cause__ is error
    assert seen.visited() == ["a"]
    assert seen.kinds[-1] == "run.cancelled"


@pytest.mark.case("P113")
async def test_a_body_that_catches_exceptions_only_does_not_hide_the_cancel() -> None:
    waiting = anyio.Event()

    async def careful(state: Any) -> Any:
        try:
            waiting.set()
            await anyio.sleep_forever()
        except Exception:
            return {"x": "recovered"}

    async with Engine(alone(careful)).start() as run:
        await waiting.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
        assert run.status == "cancelled"


async def test_tasks_below_a_node_end_with_it() -> None:
    ended: list[int] = []
    waiting = Waiting()

    async def child(number: int) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(number)

    async def body(state: Any, ctx: Any) -> None:
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(child, number)
            await waiting(state, ctx)

    await cancelled_run(alone(body), waiting, lambda run: run.cancel())
    assert sorted(ended) == [0, 1, 2]


@pytest.mark.parametrize(
    "clock", [None, HandClock(), HandClock(10**12)], ids=["machine's", "standing", "far ahead"]
)
async def test_a_loop_that_never_waits_lets_a_cancel_through(clock: HandClock | None) -> None:
    turning = anyio.Event()

    async def turn(state: Any) -> None:
        turning.set()

    again = route.to("a", lambda state: True)
    workflow = unchecked(
        "w", nodes=[node(turn, id="a", starts_round=True, routes=[again, END])], max_rounds=10**9
    )
    signal = CancelSignal()

    async def cancel() -> None:
        await turning.wait()
        signal.cancel("let through")

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        with pytest.raises(RunCancelled, match="let through"):
            await Engine(workflow, clock=clock).run(signal=signal)


class TestTheCallersOwnScope:
    """A caller that is itself cancelled takes its run along."""

    async def test_a_scope_around_run_ends_the_run(self) -> None:
        waiting = Waiting()
        seen = Recorder()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def cancel() -> None:
                    await waiting.reached.wait()
                    scope.cancel()

                group.start_soon(cancel)
                await Engine(alone(waiting), observers=[seen]).run()
        assert scope.cancelled_caught
        assert waiting.left
        assert seen.kinds[-1] == "run.cancelled"

    async def test_a_scope_that_is_cancelled_already_leaves_no_run_behind(self) -> None:
        engine = Engine(alone(Waiting()))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await engine.run(run_id="r")
        assert scope.cancelled_caught
        assert engine.get("r") is None

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_a_native_cancel_of_an_asyncio_task_ends_the_run(self) -> None:
        waiting = Waiting()
        engine = Engine(alone(waiting))
        task = asyncio.create_task(engine.run(run_id="r"))
        await waiting.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert waiting.left
        assert engine.get("r") is None

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_a_native_cancel_of_every_task_strands_nobody(self) -> None:
        waiting = Waiting()
        engine = Engine(alone(waiting), observers=[Recorder()])
        caller = asyncio.create_task(engine.run())
        await waiting.reached.wait()
        me = asyncio.current_task()
        names = {"_drive", "_run", "run"}
        for task in asyncio.all_tasks():
            coroutine = getattr(task.get_coro(), "__name__", "")
            if task not in (me, caller) and coroutine in names:
                task.cancel()
        with pytest.raises(RunCancelled, match="from outside of the run"):
            await caller

    @pytest.mark.case("P119")
    async def test_cancelling_the_wait_for_a_result_ends_only_the_wait(self) -> None:
        go_on = anyio.Event()

        async def body(state: Any) -> Any:
            await go_on.wait()
            return {"x": 1}

        async with Engine(alone(body)).start() as run:
            for _ in range(3):
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await run.result()
                assert scope.cancelled_caught
            assert run.status == "running"
            go_on.set()
            assert await run.result() == {"x": 1}


class TestLeavingAStartedRun:
    """`async with engine.start(…)` owns its run."""

    async def test_leaving_early_cancels(self) -> None:
        waiting = Waiting()
        async with Engine(alone(waiting)).start() as run:
            await waiting.reached.wait()
        assert run.status == "cancelled"
        assert waiting.left

    async def test_leaving_by_an_error_cancels_and_the_error_goes_on(self) -> None:
        waiting = Waiting()
        run = Engine(alone(waiting)).start()

        async def leave() -> None:
            async with run:
                await waiting.reached.wait()
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await leave()
        assert run.status == "cancelled"

    async def test_another_task_than_the_one_that_entered_may_leave(self) -> None:
        waiting = Waiting()
        run = Engine(alone(waiting)).start()
        async with anyio.create_task_group() as group:
            group.start_soon(run.__aenter__)
            await waiting.reached.wait()
        await run.__aexit__(None, None, None)
        assert run.status == "cancelled"

    async def test_leaving_a_run_that_has_ended_changes_nothing(self) -> None:
        async with Engine(alone(nothing)).start() as run:
            await run.result()
        assert run.status == "completed"
        run.cancel("late")
        assert await run.result() == {}
        assert run.status == "completed"
