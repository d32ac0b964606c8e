"""A commit that was done, and whose acknowledgement was lost: what nobody knows to be theirs is left to everybody."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import Claim, RunInfo
from agentflow.stores.postgresql_session import PostgresqlSession
from agentflow.stores.sqlite_session import SqliteSession
from agentflow.testing.store_check import claimed, entries, new_run, opened, the_run
from tests.stores.conftest import MakeStore, store_maker


@pytest.fixture(params=["sqlite-full", "sqlite-relaxed", "postgresql"])
def make_store(request: pytest.FixtureRequest, tmp_path: Any) -> MakeStore:
    """A function that makes stores that have connections."""
    return store_maker(request.param, request, tmp_path)


class Line:
    """The way to a database, which is cut for a moment after the next commit.

    Attributes:
        cut: Whether it is to be cut.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.cut = False
        lost = sqlite3.OperationalError("the line was cut")
        lost.sqlite_errorcode = sqlite3.SQLITE_IOERR
        self._watch(patch, SqliteSession, lost)
        self._watch(patch, PostgresqlSession, psycopg.OperationalError("the line was cut"))

    def _watch(self, patch: pytest.MonkeyPatch, session: Any, lost: Exception) -> None:
        commit = session.commit

        def cut_after(this: Any) -> None:
            commit(this)
            if self.cut:
                self.cut = False
                raise lost

        patch.setattr(session, "commit", cut_after)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


async def cuts(line: Line, call: Any) -> None:
    """A call whose answer is lost."""
    line.cut = True
    with pytest.raises(StoreError, match="the line was cut"):
        await call
    assert not line.cut


@pytest.mark.parametrize("known", [False, True], ids=["new", "suspended"])
async def test_a_run_whose_claim_was_not_answered_is_nobodys(
    make_store: MakeStore, line: Line, known: bool
) -> None:
    async with opened(make_store) as mine, opened(make_store) as other:
        if known:
            await mine.append(await claimed(mine), entries(1), status="suspended")
        await cuts(line, mine.claim("run", new=new_run(), suspended=True))
        # Whoever recovers finds it; and whoever writes next gives it back, so that others find it too.
        assert [info.run_id for info in await mine.find(status="interrupted")] == ["run"]
        claim = await other.claim("run")
        assert isinstance(claim, Claim)
        assert claim.info.last == int(known)


async def test_a_run_that_is_driven_stays_so_when_somebody_else_asked_for_it_in_vain(
    make_store: MakeStore, line: Line
) -> None:
    async with opened(make_store) as mine, opened(make_store) as other:
        claim = await claimed(mine)
        await cuts(line, mine.claim("run"))
        await mine.append(claim, entries(1))
        assert (await the_run(mine)).status == "running"
        assert isinstance(await other.claim("run"), RunInfo)
        await mine.append(claim, entries(2), status="interrupted")
        again = await claimed(other)
        assert (again.epoch, again.info.last) == (2, 2)
        with pytest.raises(StaleClaim):
            await mine.append(claim, entries(3))


async def test_a_run_that_was_claimed_again_after_a_lost_claim_is_driven(
    make_store: MakeStore, line: Line
) -> None:
    async with opened(make_store) as store:
        await cuts(line, store.claim("run", new=new_run()))
        claim = await claimed(store)
        await store.append(claim, entries(1))
        assert [info.run_id for info in await store.find(status="running")] == ["run"]
        await store.append(claim, entries(2), status="completed")
        assert await store.read("run") == entries(1, 2)
