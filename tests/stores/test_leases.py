"""Who counts as dead: on the same machine the one who is, on another one whoever has not said for too long that they live."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentflow.errors import StaleClaim
from agentflow.run.entries import Claim, RunInfo
from agentflow.run.ports import Store
from agentflow.stores import lock
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing import FixedClock
from agentflow.testing.store_check import claimed, entries, opened, the_run

LEASE = 30.0

MakeOn = Callable[..., Store]


@pytest.fixture(params=["sqlite", "postgresql"])
def on(request: pytest.FixtureRequest, tmp_path: Path) -> MakeOn:
    """A function that makes a store on a machine under a clock of its own, all of them on the same data.

    A driver whose clock stands still does not renew its lease.
    """
    if request.param == "sqlite":
        path = tmp_path / "runs.db"
        return lambda name, time: SqliteStore(path, lease=LEASE, time=time, machine=name)
    url: str = request.getfixturevalue("postgresql_url")
    return lambda name, time: PostgresqlStore(url, lease=LEASE, time=time, machine=name)


async def test_elsewhere_a_driver_is_dead_when_its_lease_has_run_out(on: MakeOn) -> None:
    clock = FixedClock()
    async with (
        opened(lambda: on("here", FixedClock())) as mine,
        opened(lambda: on("there", clock)) as other,
    ):
        claim = await claimed(mine)
        await mine.append(claim, entries(1))
        clock.advance(LEASE - 1)
        assert isinstance(await other.claim("run"), RunInfo)
        assert await other.find(status="interrupted") == []
        clock.advance(2)
        assert [info.run_id for info in await other.find(status="interrupted")] == ["run"]
        assert await other.find(status="running") == []
        assert (await the_run(other)).status == "interrupted"
        taken = await other.claim("run")
        assert isinstance(taken, Claim)
        assert (taken.epoch, taken.info.last) == (2, 1)
        with pytest.raises(StaleClaim):
            await mine.append(claim, entries(2))
        await other.append(taken, entries(2))


async def test_a_driver_that_writes_renews_its_lease(on: MakeOn) -> None:
    here, there = FixedClock(), FixedClock()
    async with (
        opened(lambda: on("here", here)) as mine,
        opened(lambda: on("there", there)) as other,
    ):
        claim = await claimed(mine)
        for number in range(1, 10):
            here.advance(LEASE - 1)
            # The lease is renewed after a batch; the second one is begun after that.
            await mine.append(claim, entries(2 * number - 1))
            await mine.append(claim, entries(2 * number))
            there.advance(LEASE - 1)
            assert isinstance(await other.claim("run"), RunInfo)


async def test_on_the_same_machine_a_live_driver_is_never_taken_over(on: MakeOn) -> None:
    clock = FixedClock()
    async with (
        opened(lambda: on("here", FixedClock())) as mine,
        opened(lambda: on("here", clock)) as other,
    ):
        claim = await claimed(mine)
        clock.advance(1000 * LEASE)
        assert isinstance(await other.claim("run"), RunInfo)
        assert await other.find(status="interrupted") == []
        await mine.append(claim, entries(1))


async def test_a_lease_that_was_lost_is_no_harm_when_nobody_wanted_it(on: MakeOn) -> None:
    here, there = FixedClock(), FixedClock()
    async with (
        opened(lambda: on("here", here)) as mine,
        opened(lambda: on("there", there)) as other,
    ):
        claim = await claimed(mine)
        there.advance(10 * LEASE)
        async with opened(lambda: on("third", there)):
            # It clears away what dead drivers have left; this one has left a run.
            assert (await the_run(other)).status == "interrupted"
        here.advance(10 * LEASE)
        await mine.append(claim, entries(1))
        await mine.append(claim, entries(2))
        assert isinstance(await other.claim("run"), RunInfo)


async def test_pruning_takes_the_runs_of_the_dead_for_interrupted(on: MakeOn) -> None:
    clock = FixedClock()
    async with (
        opened(lambda: on("here", FixedClock())) as mine,
        opened(lambda: on("there", clock)) as other,
    ):
        await claimed(mine)
        assert await other.prune(statuses=["interrupted"]) == 0
        clock.advance(LEASE + 1)
        assert await other.prune(statuses=["running"]) == 0
        assert await other.prune(statuses=["interrupted"]) == 1


async def test_where_there_are_no_locks_the_lease_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "fcntl", None)
    clock = FixedClock()

    def make(time: FixedClock) -> Store:
        return SqliteStore(tmp_path / "runs.db", lease=LEASE, time=time)

    async with opened(lambda: make(FixedClock())) as mine, opened(lambda: make(clock)) as other:
        await claimed(mine)
        assert isinstance(await other.claim("run"), RunInfo)
        clock.advance(LEASE + 1)
        assert isinstance(await other.claim("run"), Claim)
