"""A store that somebody else opens and closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.run.ports import Store

__all__ = ["BorrowedStore"]


class BorrowedStore:
    """The same store, for an engine that lives no longer than a call: opening and closing it is its owner's.

    Args:
        store: The store, which is open.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def open(self) -> None:
        """Nothing: it is open."""

    async def close(self) -> None:
        """Nothing: its owner closes it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
