"""Waiting that no cancel cuts: it is raised afterwards, once, by whatever is awaited next."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from agentflow.run.loop import Latch, current_loop, wait_out


async def test_the_cancel_of_a_scope_comes_when_the_waiting_is_over() -> None:
    latch = current_loop().latch()
    seen: list[str] = []

    async def wait() -> None:
        await wait_out(latch)
        seen.append("open" if latch.opened else "cut")
        await anyio.lowlevel.checkpoint()
        seen.append("never")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            assert seen == []
            latch.open()
    assert seen == ["open"]


async def test_nothing_is_left_of_a_cancel_whose_scope_has_ended() -> None:
    latch = current_loop().latch()
    async with anyio.create_task_group() as group:

        async def open_soon() -> None:
            await anyio.wait_all_tasks_blocked()
            latch.open()

        with anyio.CancelScope() as scope:
            group.start_soon(open_soon)
            scope.cancel()
            await wait_out(latch)
        await anyio.lowlevel.checkpoint()
    assert latch.opened


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "when it is open"])
def test_the_cancel_of_a_task_is_put_off_and_not_lost(late: bool) -> None:
    seen: list[str] = []

    async def wait(latch: Latch) -> None:
        await wait_out(latch)
        seen.append("open")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            assert task is not None
            seen.append(f"{error} {task.cancelling()}")
            raise
        seen.append("never")

    async def main() -> None:
        latch = current_loop().latch()
        task = asyncio.ensure_future(wait(latch))
        await asyncio.sleep(0)
        if late:
            latch.open()
        task.cancel("stop it")
        await asyncio.sleep(0)
        latch.open()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())
    assert seen == ["open", "stop it 1"]
