"""Plain functions run in worker threads: the loop goes on, context is carried, and `ctx.sync` leads back."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import Engine, RunCancelled
from tests.run.clock import HandClock
from tests.run.watching import Recorder
from tests.run.workflows import alone, line


@pytest.mark.rule("R250")
async def test_a_plain_function_runs_beside_the_loop(gate: threading.Event) -> None:
    def block(state: Any) -> Any:
        gate.wait()
        return {"x": threading.get_ident()}

    async with Engine(alone(block)).start() as run:
        await wait_all_tasks_blocked()
        gate.set()
        assert (await run.result())["x"] != threading.get_ident()


async def test_a_plain_function_that_gives_a_coroutine_is_awaited() -> None:
    async def inner(state: Any) -> Any:
        return {"x": threading.get_ident()}

    def around(state: Any) -> Any:
        return inner(state)

    assert await alone(around).run() == {"x": threading.get_ident()}


@pytest.mark.parametrize("plain", [False, True])
async def test_a_thread_does_effects_through_the_loop(plain: bool) -> None:
    done: list[int] = []

    async def pay_in_the_loop() -> int:
        done.append(threading.get_ident())
        return len(done)

    def pay() -> int:
        done.append(threading.get_ident())
        return len(done)

    def body(state: Any, ctx: Any) -> Any:
        function = pay if plain else pay_in_the_loop
        return {"x": [ctx.sync.once("pay", function), ctx.sync.once("pay", function)]}

    assert await alone(body).run() == {"x": [1, 1]}
    assert (done[0] == threading.get_ident()) is not plain


async def test_threads_that_wait_for_each_other_do_not_exhaust_their_pool() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    before = limiter.total_tokens
    barrier = threading.Barrier(2)

    def body(state: Any, ctx: Any) -> Any:
        barrier.wait(10)
        return {"x": ctx.sync.once("pay", lambda: "paid")}

    engine = Engine(alone(body))
    results: list[Any] = []

    async def run() -> None:
        results.append(await engine.run())

    limiter.total_tokens = 2
    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(run)
    finally:
        limiter.total_tokens = before
    assert results == [{"x": "paid"}] * 2


async def test_a_run_may_be_cancelled_while_it_waits_for_a_free_thread(
    gate: threading.Event,
) -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    before = limiter.total_tokens
    ran: list[int] = []
    seen = Recorder()

    async def hold_a_thread() -> None:
        await anyio.to_thread.run_sync(gate.wait)

    async with anyio.create_task_group() as group:
        limiter.total_tokens = 1
        try:
            group.start_soon(hold_a_thread)
            await wait_all_tasks_blocked()
            async with Engine(alone(lambda state: ran.append(1)), observers=[seen]).start() as run:
                await wait_all_tasks_blocked()
                run.cancel()
                with pytest.raises(RunCancelled):
                    await run.result()
        finally:
            limiter.total_tokens = before
            gate.set()
    assert ran == []
    assert "thread.abandoned" not in seen.kinds


async def test_an_abandoned_thread_is_refused_what_it_asks_for(gate: threading.Event) -> None:
    reached, ended = threading.Event(), threading.Event()
    found: list[BaseException] = []
    done: list[str] = []

    def body(state: Any, ctx: Any) -> None:
        reached.set()
        gate.wait()
        try:
            ctx.sync.once("pay", lambda: done.append("paid"))
        except BaseException as error:
            found.append(error)
        ended.set()

    async with Engine(alone(body)).start() as run:
        await anyio.to_thread.run_sync(reached.wait)
        run.cancel("enough")
    gate.set()
    await anyio.to_thread.run_sync(ended.wait)
    await wait_all_tasks_blocked()
    assert len(found) == 1
    assert done == []


async def test_a_thread_of_the_nodes_own_that_comes_late_is_refused() -> None:
    found: list[BaseException] = []
    done: list[str] = []
    go_on, threads = threading.Event(), []

    def body(state: Any, ctx: Any) -> None:
        def late() -> None:
            go_on.wait(10)
            try:
                ctx.sync.once("pay", lambda: done.append("paid"))
            except BaseException as error:
                found.append(error)

        threads.append(threading.Thread(target=late))
        threads[0].start()

    await alone(body).run()
    go_on.set()
    await anyio.to_thread.run_sync(threads[0].join)
    assert len(found) == 1
    assert done == []


async def test_a_plain_node_cancels_its_own_run() -> None:
    def body(state: Any, ctx: Any) -> Any:
        ctx.signal.cancel("from the thread")
        return {"x": 1}

    async with Engine(alone(body)).start() as run:
        with pytest.raises(RunCancelled, match="from the thread"):
            await run.result()
        assert dict(run.state) == {}


@pytest.mark.case("P103")
async def test_a_plain_node_may_run_another_workflow_synchronously() -> None:
    async def inner(state: Any) -> Any:
        return {"x": state["x"] + 1}

    workflow = alone(inner)

    def body(state: Any) -> Any:
        return {"x": workflow.run_sync({"x": 1})["x"]}

    assert await alone(body).run() == {"x": 2}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_error_of_a_thread_is_the_nodes_own(backend: str) -> None:
    error = OSError("in the thread")

    def body(state: Any) -> None:
        raise error

    async def main() -> None:
        with pytest.raises(OSError, match="in the thread") as caught:
            await line(body).run()
        assert caught.value is error

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("way", ["cancelled", "timed out"])
async def test_what_a_thread_waits_for_in_the_loop_ends_with_its_visit(way: str) -> None:
    reached, left = anyio.Event(), anyio.Event()
    found: list[BaseException] = []
    ended = threading.Event()

    async def wait() -> None:
        try:
            reached.set()
            await anyio.sleep_forever()
        finally:
            left.set()

    def body(state: Any, ctx: Any) -> None:
        try:
            ctx.sync.once("wait", wait)
        except BaseException as error:
            found.append(error)
            raise
        finally:
            ended.set()

    clock = HandClock()
    async with Engine(alone(body, timeout=5), clock=clock).start() as run:
        await reached.wait()
        await wait_all_tasks_blocked()
        if way == "cancelled":
            run.cancel("enough")
        else:
            clock.move(5)
        with pytest.raises((RunCancelled, TimeoutError)):
            await run.result()
    with anyio.fail_after(10):
        await left.wait()
        await anyio.to_thread.run_sync(ended.wait)
    assert len(found) == 1
