"""Snapshots as an SQLite file keeps them: compressed, because they say again what the entries before them have said."""

from __future__ import annotations

import sqlite3
import zlib
from typing import Final

__all__ = ["add_packing"]

_QUICK: Final = 1
"""zlib's level: text gets hardly smaller by more, and somebody may wait."""


def add_packing(connection: sqlite3.Connection) -> None:
    """Let the SQL of a connection call `packed(text)` and `unpacked(stored)`."""
    connection.create_function("packed", 1, _packed, deterministic=True)
    connection.create_function("unpacked", 1, _unpacked, deterministic=True)


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(), _QUICK)


def _unpacked(stored: bytes | str) -> str:
    # Whoever has looked into the file by hand may have put a text there.
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode()
