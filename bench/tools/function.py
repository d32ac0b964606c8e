"""The function that every competitor makes a tool of."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

__all__ = ["Filter", "look_up"]


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
