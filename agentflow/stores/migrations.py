"""The version of a database's tables, and how it is brought to the newest: in one transaction, by whoever opens it first."""

from __future__ import annotations

from agentflow.errors import StoreError
from agentflow.stores.session import Session
from agentflow.stores.statements import Dialect

__all__ = ["migrate", "newest"]


def newest(session: Session, dialect: Dialect, name: str) -> bool:
    """Whether the tables are of the newest version that this code knows.

    Raises:
        StoreError: They are of one that it does not know.
    """
    if not session.rows("find_schema", {}):
        return False
    return _version(session, dialect, name) == len(dialect.migrations)


def migrate(session: Session, dialect: Dialect, name: str) -> None:
    """Bring the tables to the newest version. To be called inside of a transaction that keeps others from doing the same.

    Raises:
        StoreError: They are of a version that this code does not know.
    """
    session.script(dialect.statements["make_schema"])
    version = _version(session, dialect, name)
    for at, migration in enumerate(dialect.migrations[version:], start=version + 1):
        for statement in migration:
            session.script(statement)
        session.change("add_schema_version", {"version": at})


def _version(session: Session, dialect: Dialect, name: str) -> int:
    version: int = session.rows("schema_version", {})[0][0]
    known = len(dialect.migrations)
    if version > known:
        raise StoreError(
            f"{name} was written by a newer agentflow: its tables are of version {version}, "
            f"this one knows versions up to {known}; upgrade agentflow"
        )
    return version
