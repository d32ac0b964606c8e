"""The small protocol that every competitor's module of tools follows, and the arguments that all are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

__all__ = ["ARGUMENTS", "Smith"]

ARGUMENTS: dict[str, Any] = {
    "service": "checkout",
    "since": 3,
    "filters": [{"field": "status", "value": "500"}, {"field": "path", "value": "/pay"}],
    "order": "newest",
}


class Smith(Protocol):
    """What a competitor's module offers."""

    TITLE: str
    DISTRIBUTION: str | None
    LACKS: Mapping[str, str]
    """Scenario id to the reason why this competitor cannot take part."""
    FEWER: Mapping[str, int]
    """Scenario id to a smaller size."""
    EXTRAS: Mapping[str, str]
    """The statement that imports what an extra is for, by the name of the extra."""

    def calling(self, calls: int) -> Callable[[], Awaitable[str]]:
        """Calls `look_up` so many times with `ARGUMENTS`, validated each time; gives the last answer."""

    def validating(self) -> Callable[[], object]:
        """Validates `ARGUMENTS` against the parameters of `look_up`."""

    def making(self) -> Callable[[], Mapping[str, object]]:
        """Makes a tool of `look_up`, and gives the schema of its parameters."""
