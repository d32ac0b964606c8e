"""The small protocol that every competitor's module of tools follows, and the function that both make a tool of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from typing_extensions import TypedDict

__all__ = ["ARGUMENTS", "Filter", "Smith", "look_up"]

ARGUMENTS: dict[str, Any] = {
    "service": "checkout",
    "since": 3,
    "filters": [{"field": "status", "value": "500"}, {"field": "path", "value": "/pay"}],
    "order": "newest",
}


# Not that of `typing`, which pydantic alone does not take on Python 3.11.
class Filter(TypedDict):
    """What an entry must have."""

    field: str
    value: str


async def look_up(
    service: str, since: int, filters: list[Filter], order: Literal["newest", "oldest"] = "newest"
) -> str:
    """Look for entries in a service's log.

    Args:
        service: The service.
        since: How many hours back.
        filters: What an entry must have.
        order: Which come first.
    """
    return f"{len(filters)} of {service}"


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
