"""PostgreSQL: journals in a database that many machines share. Needs `pip install 'agentflow[postgresql]'`."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from agentflow.errors import StoreError
from agentflow.stores.driver import Time, kernel_id, process_space
from agentflow.stores.options import LEASE, lease_of
from agentflow.stores.table_store import TableStore

__all__ = ["PostgresqlStore", "from_url"]

_READERS = 4


class PostgresqlStore(TableStore):
    """Keeps journals in a PostgreSQL database, in tables whose names begin with `agentflow_`.

    One connection writes, for all runs of the engine, and shows that this driver is alive; a few more read. The connection must be
    a session of the server's: a pooler in between must not hand it to others between two transactions.

    Args:
        conninfo: The database, as libpq takes it: a URL or `key=value` words.
        lease: Seconds after which a driver on another machine counts as dead, by the server's clock. On this one, a dead driver is
            seen at once.
        readers: How many connections read at most.
        time: What stamps records and judges leases; default: the machine's and the server's time.
        machine: What names the machine; default: found out. Drivers of one name look whether each other's processes live.

    Raises:
        ValueError: `conninfo` is no such thing.
        StoreError: psycopg is not installed.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        lease: float = LEASE,
        readers: int = _READERS,
        time: Time | None = None,
        machine: str | None = None,
    ) -> None:
        try:
            from agentflow.stores.postgresql_server import PostgresqlServer
        except ImportError as error:
            raise StoreError(
                "a PostgreSQL store needs psycopg: pip install 'agentflow[postgresql]'"
            ) from error
        machine = f"{kernel_id()} {process_space()}" if machine is None else machine
        server = PostgresqlServer(conninfo, machine)
        super().__init__(
            server, machine, lease=lease, time=time, server_time=time is None, readers=readers
        )


def from_url(url: str) -> PostgresqlStore:
    """The store of `postgresql://user@host:port/database`, with `?lease=SECONDS`; other options are libpq's.

    Raises:
        ValueError: It is no such URL, or an option is none.
        StoreError: psycopg is not installed.
    """
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    if any(name == "durability" for name, _ in options):
        raise ValueError(
            f"store={_unsecret(url)!r}: a PostgreSQL server has its own durability; see its synchronous_commit"
        )
    lease = lease_of(_unsecret(url), dict(options).get("lease"))
    rest = urlencode([(name, value) for name, value in options if name != "lease"])
    # Put together by hand, because an empty host ("the local socket") would lose its slashes.
    conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    return PostgresqlStore(conninfo, lease=lease)


def _unsecret(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
