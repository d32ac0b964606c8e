"""SQLite: journals in one file, with nothing to install or to start. The store for one machine, and for as many processes on it as you like."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from agentflow.stores.driver import Time, kernel_id
from agentflow.stores.options import LEASE, lease_of, refuse_unknown
from agentflow.stores.sqlite_file import Durability, SqliteFile
from agentflow.stores.table_store import TableStore

__all__ = ["Durability", "SqliteStore", "from_url"]


class SqliteStore(TableStore):
    """Keeps journals in an SQLite file, which is made if it is not there. Close it, or its runs wait until this process ends.

    Args:
        path: The file. Beside it live its `-wal` and `-shm`, and one empty file for each store object that is open.
        durability: `full`: what was acknowledged survives a loss of power. `relaxed`: it survives the end of the process, however
            that comes; a loss of power may take the last instants.
        lease: Seconds after which a driver on another machine that shares the file counts as dead. On this one, a dead driver is
            seen at once.
        patience: Seconds to wait for another process that writes, before it is an error.
        time: What stamps records and judges leases; default: the machine's time.
        machine: What names the machine; default: found out. Drivers of one name see each other's locks.

    Raises:
        ValueError: `durability` is neither of the two.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        lease: float = LEASE,
        patience: float = 10.0,
        time: Time | None = None,
        machine: str | None = None,
    ) -> None:
        machine = kernel_id() if machine is None else machine
        file = SqliteFile(Path(path), machine, durability=durability, patience=patience)
        super().__init__(
            file, machine, lease=lease, time=time, server_time=False, inline=file.relaxed
        )


def from_url(url: str) -> SqliteStore:
    """The store of `sqlite:///relative.db` or `sqlite:////absolute.db`, with `?durability=full|relaxed` and `?lease=SECONDS`.

    Raises:
        ValueError: The URL names no file, or an option that there is not.
    """
    place, _, query = url.removeprefix("sqlite:").partition("?")
    path = unquote(place.removeprefix("///"))
    if not place.startswith("///") or path in ("", ":memory:"):
        raise ValueError(
            f"store={url!r} names no file: write sqlite:///relative.db or sqlite:////absolute.db, "
            "and memory: for a store without one"
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    refuse_unknown(url, options, ("durability", "lease"))
    durability = options.get("durability", "full")
    if durability not in ("full", "relaxed"):
        raise ValueError(f"store={url!r}: durability={durability!r} is neither full nor relaxed")
    return SqliteStore(
        path,
        durability="relaxed" if durability == "relaxed" else "full",
        lease=lease_of(url, options.get("lease")),
    )
