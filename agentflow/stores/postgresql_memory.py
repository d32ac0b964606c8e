"""PostgreSQL: what agents remember, in a database that many machines share. Needs `pip install 'agentflow[postgresql]'`."""

from __future__ import annotations

from agentflow.errors import StoreError
from agentflow.stores.driver import kernel_id, process_space
from agentflow.stores.table_memory import TableMemory

__all__ = ["PostgresqlMemory"]


class PostgresqlMemory(TableMemory):
    """Keeps conversations and working memories in a PostgreSQL database, in tables whose names begin with `agentflow_`.

    Args:
        conninfo: The database, as libpq takes it: a URL or `key=value` words; it may be that of a `PostgresqlStore`.

    Raises:
        ValueError: `conninfo` is no such thing.
        StoreError: psycopg is not installed.
    """

    def __init__(self, conninfo: str) -> None:
        try:
            from agentflow.stores.postgresql_server import PostgresqlServer
        except ImportError as error:
            raise StoreError(
                "a PostgreSQL memory needs psycopg: pip install 'agentflow[postgresql]'"
            ) from error
        super().__init__(PostgresqlServer(conninfo, f"{kernel_id()} {process_space()}"))
