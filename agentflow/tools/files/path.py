"""Paths as models write them: relative, with `/`, and without a step up."""

from __future__ import annotations

from agentflow.errors import AgentflowError

__all__ = ["PathRefused", "parts_of", "shown"]


class PathRefused(AgentflowError):
    """A path is not followed, or what lies there is not touched; the message tells why."""

    code = "path_refused"


def parts_of(path: str) -> tuple[str, ...]:
    """The names on the way from the folder; none for the folder itself.

    Raises:
        PathRefused: The path begins elsewhere, has a step up, or cannot be the name of anything.
    """
    if path.startswith("/"):
        raise PathRefused(f"{path!r} is absolute; paths are relative to the folder")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise PathRefused(f"{path!r} has a step up ('..'), which is not followed")
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        raise PathRefused(f"{path!r} is no text that a file could be called by") from error
    if b"\0" in encoded:
        raise PathRefused(f"{path!r} holds a character that no name has")
    return parts


def shown(path: str) -> str:
    """A name or a path of the system as text, also where its bytes are none."""
    return path.encode("utf-8", "backslashreplace").decode()
