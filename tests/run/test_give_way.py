"""Giving way: work that never waits lets others have the loop now and then, and what has just waited does not do so again."""

from __future__ import annotations

import math

import anyio
import anyio.lowlevel
import pytest

from agentflow.run import loop
from agentflow.run.loop import current_loop, give_way, wait_out


class Others:
    """A task beside the test's; tells whether it was let in since it was last asked."""

    def __init__(self) -> None:
        self._turns = 0

    async def work(self) -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            self._turns += 1

    def let_in(self) -> bool:
        turns, self._turns = self._turns, 0
        return turns > 0


async def waited() -> None:
    """Wait for something that comes at once."""
    here = current_loop()
    latch = here.latch()
    here.post(latch.open)
    await wait_out(latch)


async def test_whoever_was_let_go_on_just_now_does_not_give_way_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "SLICE", math.inf)
    others = Others()
    async with anyio.create_task_group() as group:
        group.start_soon(others.work)
        await waited()
        others.let_in()
        await give_way()
        assert not others.let_in()
        group.cancel_scope.cancel()


async def test_whoever_has_gone_on_for_a_slice_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SLICE", 0.0)
    others = Others()
    async with anyio.create_task_group() as group:
        group.start_soon(others.work)
        await waited()
        others.let_in()
        await give_way()
        assert others.let_in()
        group.cancel_scope.cancel()


async def test_waiting_for_what_is_there_already_is_no_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "SLICE", 0.0)
    await waited()
    turned = await give_way()
    latch = current_loop().latch()
    latch.open()
    await wait_out(latch)
    assert loop._thread.turned < turned


async def test_a_cancel_that_was_put_off_is_no_turn() -> None:
    """Otherwise what waits for a store at every step, and for nothing else, would never be told of its cancel."""
    before = loop._thread.turned
    latch = current_loop().latch()
    with anyio.CancelScope() as scope:
        scope.cancel()
        current_loop().post(latch.open)
        await wait_out(latch)
    assert loop._thread.turned == before
