"""Stores for tests: each kind, on data that is empty at first."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from agentflow.run.ports import Store
from agentflow.stores.memory import MemoryStore
from agentflow.stores.postgresql import PostgresqlStore
from agentflow.stores.sqlite import SqliteStore
from tests.stores.postgres_server import NoPostgresql, PostgresServer

KINDS = ["memory", "sqlite-full", "sqlite-relaxed", "postgresql"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server of our own, which a test may also stop."""
    try:
        server = PostgresServer()
    except NoPostgresql as reason:
        given = os.environ.get("AGENTFLOW_TEST_POSTGRESQL")
        if os.environ.get("AGENTFLOW_REQUIRE_POSTGRESQL") and not given:
            raise
        pytest.skip(f"no PostgreSQL: {reason}")
    with server:
        yield server


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty schema: on the server of AGENTFLOW_TEST_POSTGRESQL, or on one of our own."""
    url = os.environ.get("AGENTFLOW_TEST_POSTGRESQL")
    if not url:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.url
    with empty_schema(url) as there:
        yield there


@contextmanager
def empty_schema(url: str) -> Iterator[str]:
    name = f"agentflow_test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    yield f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={name}')}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


MakeStore = Callable[[], Store]


@pytest.fixture(params=KINDS)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """A function that makes stores of one kind, all of them on the same data."""
    kind: str = request.param
    return store_maker(kind, request, tmp_path)


def store_maker(kind: str, request: pytest.FixtureRequest, folder: Path) -> MakeStore:
    if kind == "memory":
        memory = MemoryStore()
        return lambda: memory
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgresql_url")
        return lambda: PostgresqlStore(url)
    path = folder / "runs.db"
    if kind == "sqlite-full":
        return lambda: SqliteStore(path)
    return lambda: SqliteStore(path, durability="relaxed")
