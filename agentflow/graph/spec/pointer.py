"""JSON pointers (RFC 6901): where in a document a value is."""

from __future__ import annotations

__all__ = ["below"]


def below(pointer: str, *parts: str | int) -> str:
    """The pointer to what lies below `pointer`, by keys and indices; the root is the empty pointer."""
    steps = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return "".join([pointer, *(f"/{step}" for step in steps)])
