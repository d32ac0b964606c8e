"""Values on their way into a journal and out of it, with errors that say where they stand."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agentflow.errors import ContractError, IncompatibleRun
from agentflow.graph.codec import Unstorable, decoded, encoded

__all__ = ["restored", "stored", "stored_time", "unstorable"]


def stored(where: str, value: Any) -> Any:
    """A value in its stored form.

    Raises:
        ContractError: It has none, or would not come back as it is; says `where` it stands.
    """
    try:
        return encoded(value)
    except Unstorable as error:
        raise unstorable(where, error) from error


def unstorable(where: str, error: Unstorable) -> ContractError:
    """The error that tells that the value at `where` has no stored form."""
    return ContractError(f"{where} cannot be stored: {error}")


def restored(where: str, data: Any) -> Any:
    """A value from its stored form.

    Raises:
        IncompatibleRun: The code of today cannot make it.
    """
    try:
        return decoded(data)
    except Unstorable as error:
        raise IncompatibleRun(f"{where} cannot be restored: {error}") from error


def stored_time(text: str | None) -> datetime | None:
    """A time as entries hold it, or none."""
    return None if text is None else datetime.fromisoformat(text)
