"""The life of one process: it drives runs to their end, answers what they ask, lets the time pass that they wait for, or dies before.

Run as `python -m tests.crash.life ORDER` it is a process of its own from its first instruction; see `cradle` for a cheaper one.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from agentflow import Engine
from agentflow.errors import ResumeConflict, StoreError
from agentflow.graph.codec import encoded
from agentflow.run import journal
from agentflow.run.entries import ENDED
from agentflow.run.run import Run
from agentflow.run.suspension import last_suspension
from agentflow.stores import sqlite_file
from agentflow.testing import FixedClock
from tests.crash.death import Writes
from tests.crash.draw import Drawn, draw
from tests.crash.flaws import FLAWS
from tests.crash.order import Order
from tests.crash.services import TOOLS, answers_to, model
from tests.crash.witness import Witness, digest_of
from tests.crash.world import World, lines_of

__all__ = ["live", "seconds_of"]

BEGINNING: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""When the first process begins, by its clock; every further one begins when the last one was seen for the last time."""


_MANY: Final = 200
"""How often no run is gone on with."""


def live(order: Order) -> None:
    """Do what is ordered, or die."""
    drawn = draw(order.seed)
    if drawn.untidy:
        journal._LEAST_WEIGHT = 0  # type: ignore[misc]
        sqlite_file._CHECKPOINT = 8  # type: ignore[misc]
    if order.flaw is not None:
        FLAWS[order.flaw](setattr)
    anyio.run(partial(_live, order, drawn), backend=drawn.backend)


def seconds_of(moment: datetime) -> float:
    """A time of the lives' clocks, in seconds since the beginning."""
    return (moment - BEGINNING).total_seconds()


async def _live(order: Order, drawn: Drawn) -> None:
    path = Path(order.log)
    last = max((line.at for line in lines_of(path)), default=0.0)
    clock = FixedClock(BEGINNING + timedelta(seconds=last + order.outage))
    world = World(path, order.life, lambda: seconds_of(clock.now()))
    world.write("born")
    writes = Writes(order.death)
    store = Witness(order.store(), world, writes)
    try:
        await store.open()
    except StoreError as error:
        world.write("stopped", error=str(error))
        return
    async with Engine(
        drawn.workflow,
        store=store,
        clock=clock,
        model=model(world),
        tools=TOOLS,
        budget=drawn.budget,
        observers=[world.told],
    ) as engine:
        driver = _Driver(order, engine, world, clock)
        known = await engine.recover(deps=world) if order.way == "recover" else {}
        async with anyio.create_task_group() as group:
            for run_id in drawn.runs:
                group.start_soon(driver.drive, run_id, known.get(run_id))
    world.write("closed", writes=writes.count)
    writes.give_room()
    if order.last:
        await _clear(order, drawn, world)


class _Driver:
    """Drives runs, each to its end."""

    def __init__(self, order: Order, engine: Engine[Any], world: World, clock: FixedClock) -> None:
        self._order = order
        self._engine = engine
        self._world = world
        self._clock = clock

    async def drive(self, run_id: str, run: Run[Any] | None) -> None:
        """Go on with a run until it has ended; `run` is where it was left by somebody else in this process."""
        if run is None:
            run = await self._first(run_id)
        turns = 0
        while (run := await self._gone_on(run)).status not in ENDED:
            turns += 1
            assert turns < _MANY, f"run {run_id} comes to no end: {run}, {_error_of(run)!r}"
            if run.status == "interrupted":
                self._world.write("stopped", error=str(_error_of(run)))
                if self._order.waits:
                    run = await self._recovered(run_id)
                    continue
                if not self._order.persistent:
                    return
            run = self._next(run)
        # Whoever asks again is told the same, and nothing runs.
        again = self._start(run_id)
        self._world.write(
            "ended",
            run=run_id,
            status=run.status,
            again=(await self._gone_on(again)).status,
            result=encoded(again._value),
            error=repr(_error_of(again)),
            state=encoded(dict(run.state)),
            told=encoded(dict(again.state)),
            used={**again.ledger.as_dict(), "seconds": 0},
        )

    async def _gone_on(self, run: Run[Any]) -> Run[Any]:
        """A run that has ended or stopped."""
        if run.status == "running":
            async with run:
                await run.settled()
        if isinstance(_error_of(run), ResumeConflict):
            # Somebody else was quicker: what comes of their answer is told to everybody.
            return await self._gone_on(self._start(run.id))
        return run

    async def _first(self, run_id: str) -> Run[Any]:
        if self._order.way == "answer":
            assert self._engine.store is not None
            waiting = last_suspension(await self._engine.store.read(run_id, after=0))
            answers = answers_to(self._order.seed, waiting.requests)
            if waiting.open and answers:
                return self._reopen(run_id, answers)
        return self._start(run_id)

    async def _recovered(self, run_id: str) -> Run[Any]:
        os.kill(os.getpid(), signal.SIGSTOP)
        runs = await self._engine.recover(deps=self._world)
        if run_id in runs:
            return runs[run_id]
        # What is recovered is what has stopped in the middle; everything else is as it was.
        left = [info.status for info in await self._engine.runs() if info.run_id == run_id]
        assert left in ([], ["suspended"], ["completed"], ["failed"]), f"left alone, but {left}"
        return self._start(run_id)

    def _next(self, run: Run[Any]) -> Run[Any]:
        """The run that goes on with one that waits, or was taken away."""
        answers = answers_to(self._order.seed, run.requests)
        if answers:
            return self._reopen(run.id, answers)
        if run.due is not None:
            self._clock.advance(max(0.0, (run.due - self._clock.now()).total_seconds()))
        return self._start(run.id)

    def _start(self, run_id: str) -> Run[Any]:
        return self._engine.start({}, run_id=run_id, deps=self._world)

    def _reopen(self, run_id: str, answers: dict[str, Any]) -> Run[Any]:
        self._world.write("answers", run=run_id, requests=sorted(answers))
        return self._engine.reopen(run_id, answers, deps=self._world)


def _error_of(run: Run[Any]) -> BaseException | None:
    try:
        run.outcome()
    except Exception as error:
        return error
    return None


async def _clear(order: Order, drawn: Drawn, world: World) -> None:
    """Tell what the store holds in the end, seen by a driver that has nothing to do with it, and make room for the next plan."""
    store = order.store()
    await store.open()
    for run_id in drawn.runs:
        (info,) = await store.find(run_id=run_id)
        entries = await store.read(run_id, after=0)
        told = [[entry.number, entry.kind, digest_of(entry.body), entry.body] for entry in entries]
        world.write("journal", run=run_id, status=info.status, entries=told)
        await store.prune(run_id=run_id)
    await store.close()


if __name__ == "__main__":
    live(Order.from_json(sys.argv[1]))
