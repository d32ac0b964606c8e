"""A turn: one task at a time, first come, first served, and no cancel takes it from anybody."""

from __future__ import annotations

import anyio
from anyio.lowlevel import checkpoint

from agentflow.run.turn import Turn


def test_whoever_finds_it_free_has_it_at_once_and_nobody_else() -> None:
    turn = Turn()
    assert [turn.take_at_once(), turn.take_at_once()] == [True, False]
    turn.pass_on()
    assert turn.take_at_once()


async def test_it_goes_to_those_who_wait_in_the_order_in_which_they_came() -> None:
    turn = Turn()
    order: list[int] = []

    async def work(at: int) -> None:
        await turn.take()
        order.append(at)
        await checkpoint()
        assert order[-1] == at
        turn.pass_on()

    assert turn.take_at_once()
    async with anyio.create_task_group() as group:
        for at in range(4):
            group.start_soon(work, at)
            await anyio.wait_all_tasks_blocked()
        turn.pass_on()
        # Whoever comes now is behind those who wait, although nobody has it at this moment.
        assert not turn.take_at_once()
    assert order == [0, 1, 2, 3]
    assert turn.take_at_once()


async def test_who_waits_for_it_gets_it_although_he_was_cancelled() -> None:
    turn = Turn()
    told: list[str] = []

    async def work() -> None:
        await turn.take()
        told.append("has it")
        turn.pass_on()
        await checkpoint()
        told.append("goes on")

    assert turn.take_at_once()
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            assert told == []
            turn.pass_on()
    assert told == ["has it"]
    assert turn.take_at_once()
