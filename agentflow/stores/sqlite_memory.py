"""SQLite: what agents remember, in the file where their journals are, or in one of its own."""

from __future__ import annotations

import os
from pathlib import Path

from agentflow.stores.driver import kernel_id
from agentflow.stores.sqlite_file import Durability, SqliteFile
from agentflow.stores.table_memory import TableMemory

__all__ = ["SqliteMemory"]


class SqliteMemory(TableMemory):
    """Keeps conversations and working memories in an SQLite file, which is made if it is not there.

    Args:
        path: The file, which may be that of an `SqliteStore`.
        durability: `full`: what was kept survives a loss of power. `relaxed`: it survives the end of the process.
        patience: Seconds to wait for another process that writes, before it is an error.

    Raises:
        ValueError: `durability` is neither of the two.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        patience: float = 10.0,
    ) -> None:
        super().__init__(
            SqliteFile(Path(path), kernel_id(), durability=durability, patience=patience)
        )
