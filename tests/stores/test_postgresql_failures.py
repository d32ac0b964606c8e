"""What goes wrong with a server: an error that names it, and the next call reconnects; a live driver keeps its runs meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import psycopg
import pytest

from agentflow.errors import StoreError
from agentflow.run.entries import Claim, Entry, RunInfo
from agentflow.run.ports import Store
from agentflow.run.registry import load_store
from agentflow.stores import postgresql_server
from agentflow.stores.postgresql import PostgresqlStore, from_url
from agentflow.testing.store_check import claimed, entries, new_run, opened, the_run
from tests.stores.conftest import empty_schema
from tests.stores.postgres_server import PostgresServer


def cut_all_sessions(url: str) -> None:
    """End every session of a database but this one, as a network or an administrator does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'agentflow' AND pid <> pg_backend_pid()"
        )


async def fails_once(call: Callable[[], Awaitable[Any]]) -> Any:
    """What a call gives the second time; the first time it meets a connection that is lost."""
    with pytest.raises(StoreError, match="PostgreSQL store") as told:
        await call()
    assert isinstance(told.value.__cause__, psycopg.Error)
    return await call()


async def test_a_lost_connection_is_an_error_and_the_next_call_reconnects(
    postgresql_url: str,
) -> None:
    async with opened(lambda: PostgresqlStore(postgresql_url)) as store:
        claim = await claimed(store)
        await store.append(claim, entries(1))
        assert await store.read("run") == entries(1)
        cut_all_sessions(postgresql_url)
        await fails_once(lambda: store.append(claim, entries(2)))
        # One error tells of all connections that were open then.
        assert await store.read("run") == entries(1, 2)
        cut_all_sessions(postgresql_url)
        assert await fails_once(lambda: store.read("run")) == entries(1, 2)
        await store.append(claim, entries(3))


async def test_a_driver_that_has_lost_its_session_keeps_its_runs(postgresql_url: str) -> None:
    async with (
        opened(lambda: PostgresqlStore(postgresql_url)) as mine,
        opened(lambda: PostgresqlStore(postgresql_url)) as other,
    ):
        claim = await claimed(mine)
        cut_all_sessions(postgresql_url)
        told = await fails_once(lambda: other.claim("run"))
        assert isinstance(told, RunInfo)
        await fails_once(lambda: mine.append(claim, entries(1)))


async def test_a_server_that_is_started_anew_in_mid_run_loses_nothing(
    postgres_server: PostgresServer,
) -> None:
    with empty_schema(postgres_server.url) as url:
        # With a lease so long that nobody but the test finds out that the server was away, however long it takes to start.
        async with opened(lambda: PostgresqlStore(url, lease=3600)) as store:
            claim = await claimed(store)
            await store.append(claim, entries(1, 3))
            await anyio.to_thread.run_sync(postgres_server.restart)
            await fails_once(lambda: store.append(claim, entries(4)))
            assert await store.read("run") == entries(1, 4)
            await store.append(claim, entries(5), status="completed")


async def test_a_server_that_is_down_is_named_and_nothing_hangs(
    postgres_server: PostgresServer,
) -> None:
    with empty_schema(postgres_server.url) as url:
        async with opened(lambda: PostgresqlStore(url)) as store:
            claim = await claimed(store)
            postgres_server.stop()
            try:
                for _ in range(3):
                    with pytest.raises(StoreError, match="cannot be written"):
                        await store.append(claim, entries(1), status="completed")
                    with pytest.raises(StoreError, match="cannot be read"):
                        await store.read("run")
                with pytest.raises(StoreError, match="cannot be opened: connection"):
                    await PostgresqlStore(url).open()
            finally:
                postgres_server.start()
            # What could not be given back when the server was down is given back now.
            again = await store.claim("run", new=new_run())
            assert isinstance(again, Claim)
            assert (again.epoch, again.info.last) == (2, 0)
            await store.append(again, entries(1))


async def test_a_run_that_could_not_be_given_back_is_found_by_who_recovers(
    postgres_server: PostgresServer,
) -> None:
    with empty_schema(postgres_server.url) as url:
        async with (
            opened(lambda: PostgresqlStore(url)) as mine,
            opened(lambda: PostgresqlStore(url)) as other,
        ):
            claim = await claimed(mine)
            await anyio.to_thread.run_sync(postgres_server.stop)
            try:
                for _ in range(2):
                    with pytest.raises(StoreError):
                        await mine.append(claim, [], status="interrupted")
                    with pytest.raises(StoreError):
                        await mine.find(status="interrupted")
            finally:
                await anyio.to_thread.run_sync(postgres_server.start)
            assert [info.run_id for info in await mine.find(status="interrupted")] == ["run"]
            # And not only its own driver sees it so.
            assert (await the_run(other)).status == "interrupted"


async def test_a_run_that_somebody_keeps_locked_holds_up_no_other(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgresql_server._SETTINGS, "lock_timeout", "20ms")
    async with opened(lambda: PostgresqlStore(postgresql_url)) as store:
        stuck = await claimed(store, "stuck")
        await store.append(stuck, [], status="interrupted")
        free = await claimed(store, "free")
        with psycopg.connect(postgresql_url) as other:
            other.execute("SELECT 1 FROM agentflow_runs WHERE run_id = 'stuck' FOR UPDATE")
            async with anyio.create_task_group() as group:
                for number in range(1, 4):
                    group.start_soon(_is_locked, store)
                    await store.append(free, entries(number))
        assert isinstance(await store.claim("stuck"), Claim)
        assert (await the_run(store, "free")).last == 3


async def _is_locked(store: Store) -> None:
    with pytest.raises(StoreError, match="lock timeout"):
        await store.claim("stuck")


async def test_what_cannot_be_stored_fails_alone(postgresql_url: str) -> None:
    async with opened(lambda: PostgresqlStore(postgresql_url)) as store:
        claims = [await claimed(store, f"run-{at}") for at in range(8)]
        failed: list[str] = []

        async def write(claim: Claim) -> None:
            body = '"\x00"' if claim.run_id == "run-3" else '"fine"'
            try:
                await store.append(claim, [Entry(1, "visit", body), *entries(2)])
            except StoreError:
                failed.append(claim.run_id)

        async with anyio.create_task_group() as group:
            for claim in claims:
                group.start_soon(write, claim)
        assert failed == ["run-3"]
        assert (await the_run(store, "run-3")).last == 0
        assert (await the_run(store, "run-4")).last == 2


async def test_no_message_tells_the_password() -> None:
    store = load_store("postgresql://me:s3cret@127.0.0.1:1/runs?connect_timeout=2&lease=5")
    with pytest.raises(
        StoreError, match=r"PostgreSQL store runs at 127\.0\.0\.1:1 cannot be opened"
    ) as told:
        await store.open()
    assert "s3cret" not in str(told.value) + repr(store)
    assert isinstance(told.value.__cause__, psycopg.OperationalError)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:s3cret@host/runs?lease=0", "no positive number"),
        ("postgresql://me:s3cret@host/runs?durability=full", "synchronous_commit"),
        ("postgresql://me:s3cret@host/runs?colour=blue", "colour"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as told:
        from_url(url)
    assert "s3cret" not in str(told.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agentflow.stores.postgresql_server", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'agentflow\[postgresql\]'"):
        load_store("postgresql://host/runs")
