"""The PostgreSQL server of one run of the benchmark: one that is given, or one of its own that is gone with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bench.durable.place import SERVER
from tests.stores.postgres_server import NoPostgresql, PostgresServer


@contextmanager
def serving() -> Iterator[str | None]:
    """Have a server for the measured processes while the block lasts; gives the reason when there is none.

    The one that the environment names is taken as it is. One of our own waits for the disk at every commit, as servers do.
    """
    if os.environ.get(SERVER):
        yield None
        return
    try:
        server = PostgresServer(sync=True)
    except NoPostgresql as reason:
        yield str(reason)
        return
    with server:
        os.environ[SERVER] = server.url
        try:
            yield None
        finally:
            del os.environ[SERVER]
