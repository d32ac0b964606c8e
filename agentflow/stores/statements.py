"""Named SQL: statements and migrations are data files, one folder a dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

__all__ = ["Dialect", "load_dialect"]

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_MIGRATION: Final = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL of one kind of database.

    Args:
        statements: One statement by its name.
        migrations: What brings a database from version n to n + 1, by n: each a list of statements.
    """

    statements: dict[str, str]
    migrations: tuple[tuple[str, ...], ...]


@cache
def load_dialect(name: str) -> Dialect:
    """The SQL of the folder `sql/<name>`: `statements.sql`, and migrations `0001_….sql`, `0002_….sql` and so on."""
    folder = resources.files("agentflow.stores") / "sql" / name
    numbered = {
        int(match[1]): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if (match := _MIGRATION.fullmatch(file.name))
    }
    _, *parts = _NAME.split((folder / "statements.sql").read_text(encoding="utf-8"))
    return Dialect(
        {
            name: text.strip().removesuffix(";")
            for name, text in zip(parts[::2], parts[1::2], strict=True)
        },
        tuple(_split(numbered[at]) for at in range(1, len(numbered) + 1)),
    )


def _split(script: str) -> tuple[str, ...]:
    # Every statement ends a line, and no migration has a body with statements of its own.
    return tuple(part for part in re.split(r";\s*(?:\n|$)", script) if part.strip())
