"""The thread of a store: a bounded queue, batches, and answers that find their way back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agentflow.errors import StoreError
from agentflow.run.loop import current_loop
from agentflow.stores.worker import Job, Worker

PATIENCE = 30
"""Seconds after which a test that waits for a thread gives up."""


class Gate:
    """Work that waits until it is let through, and notes what was done."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()
        self.batches: list[list[Any]] = []

    def __call__(self, jobs: Sequence[Job]) -> None:
        self.begun.set()
        assert self.open.wait(PATIENCE)
        self.batches.append([job.work for job in jobs])
        for job in jobs:
            if job.work == "fails":
                job.error = StoreError("it failed")
            elif job.work == "breaks":
                raise RuntimeError("it broke")
            else:
                job.answer = ("done", job.work)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def start(gate: Gate) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def make(**options: Any) -> Worker:
        workers.append(Worker("a store", options.pop("perform", gate), **options))
        return workers[-1]

    yield make
    gate.open.set()
    for worker in workers:
        worker.stop()
        worker.join()


async def begins(gate: Gate) -> None:
    """Wait until the first job is under way."""
    await anyio.to_thread.run_sync(gate.begun.wait, PATIENCE)


async def test_the_answers_of_a_batch_go_back_to_their_loop_by_one_call(
    gate: Gate, start: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = start()
    calls: list[object] = []
    kind = type(current_loop())
    post = kind.post

    def noting(self: Any, call: Callable[[], object]) -> None:
        calls.append(call)
        post(self, call)

    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, "first")
        await begins(gate)
        for at in range(20):
            group.start_soon(worker.do, at)
        await anyio.wait_all_tasks_blocked()
        monkeypatch.setattr(kind, "post", noting)
        gate.open.set()
    assert [len(batch) for batch in gate.batches] == [1, 20]
    assert len(calls) == 2


async def test_jobs_that_wait_are_done_together_and_each_gets_its_own_answer(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker, answers = start(batch=6), {}

    async def ask(work: object) -> None:
        answers[work] = await worker.do(work)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "first")
        await begins(gate)
        for at in range(10):
            group.start_soon(ask, at)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert [len(batch) for batch in gate.batches] == [1, 6, 4]
    assert answers == {work: ("done", work) for work in ["first", *range(10)]}


async def test_no_more_jobs_wait_than_there_is_room_and_no_caller_is_forgotten(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start(room=3, batch=3)
    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, "first")
        await begins(gate)
        for at in range(20):
            group.start_soon(worker.do, at)
        await anyio.wait_all_tasks_blocked()
        assert worker.load == (3, 17)
        gate.open.set()
    assert worker.load == (0, 0)
    assert sorted(work for batch in gate.batches[1:] for work in batch) == list(range(20))


async def test_a_caller_that_waits_for_room_and_leaves_keeps_nobody_out(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start(room=1, batch=1)
    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, "first")
        await begins(gate)
        group.start_soon(worker.do, "second")
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as leaving:
            for at in range(5):
                leaving.start_soon(worker.do, at)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(worker.do, "last")
            await anyio.wait_all_tasks_blocked()
            leaving.cancel_scope.cancel()
        gate.open.set()
    assert gate.batches == [["first"], ["second"], ["last"]]


async def test_what_was_not_begun_when_its_caller_leaves_is_not_done(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, "first")
        await begins(gate)
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(worker.do, "second")
            await anyio.wait_all_tasks_blocked()
            leaving.cancel_scope.cancel()
        gate.open.set()
    await worker.do("third")
    assert gate.batches == [["first"], ["third"]]


async def test_what_was_under_way_when_its_caller_leaves_is_undone_before_anything_else(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start(undo=lambda job: f"undo {job.answer[1]}")
    async with anyio.create_task_group() as leaving:
        leaving.start_soon(worker.do, "first")
        await begins(gate)
        leaving.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, "second")
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert gate.batches[0] == ["first"]
    assert [work for batch in gate.batches[1:] for work in batch] == ["undo first", "second"]


async def test_an_error_reaches_its_own_caller_only(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start()
    gate.open.set()
    with pytest.raises(StoreError, match="it failed"):
        await worker.do("fails")
    assert await worker.do("goes on") == ("done", "goes on")


async def test_work_that_breaks_leaves_nobody_waiting(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start()
    gate.open.set()
    with pytest.raises(RuntimeError, match="it broke"):
        await worker.do("breaks")
    assert await worker.do("goes on") == ("done", "goes on")


async def test_a_stopped_worker_finishes_what_waits_and_takes_nothing_more(
    gate: Gate, start: Callable[..., Worker]
) -> None:
    worker = start(room=1, batch=1)
    refused: list[str] = []

    async def ask(work: str) -> None:
        try:
            await worker.do(work)
        except StoreError:
            refused.append(work)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "first")
        await begins(gate)
        for work in ("second", "outside"):
            group.start_soon(ask, work)
            await anyio.wait_all_tasks_blocked()
        worker.stop()
        await ask("too late")
        gate.open.set()
    assert gate.batches == [["first"], ["second"]]
    assert sorted(refused) == ["outside", "too late"]


def test_the_tick_comes_again_after_as_long_as_it_says(start: Callable[..., Worker]) -> None:
    ticks: list[int] = []
    thrice = threading.Event()

    def tick() -> float | None:
        ticks.append(len(ticks))
        if len(ticks) < 3:
            return 0.0
        thrice.set()
        return None

    start(tick=tick)
    assert thrice.wait(PATIENCE)


def test_a_nudge_calls_the_tick_at_once(start: Callable[..., Worker]) -> None:
    ticked = threading.Semaphore(0)
    worker = start(tick=ticked.release)
    assert ticked.acquire(timeout=PATIENCE)
    worker.nudge()
    assert ticked.acquire(timeout=PATIENCE)


async def test_several_threads_work_at_the_same_time(start: Callable[..., Worker]) -> None:
    together = threading.Barrier(2)

    def meet(jobs: Sequence[Job]) -> None:
        together.wait(PATIENCE)

    worker = start(perform=meet, threads=2, batch=1)
    async with anyio.create_task_group() as group:
        group.start_soon(worker.do, 1)
        group.start_soon(worker.do, 2)


def test_loops_in_several_threads_share_a_worker(gate: Gate, start: Callable[..., Worker]) -> None:
    worker = start()
    answers: list[Any] = []
    gate.open.set()

    def run(backend: str) -> None:
        answers.extend(anyio.run(worker.do, at, backend=backend) for at in range(20))

    threads = [threading.Thread(target=run, args=(name,)) for name in ("asyncio", "trio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(answers) == sorted([("done", at) for at in range(20)] * 2)
