"""The statuses of stored runs, as options take them and terminals show them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentflow.cli.styled import Role

__all__ = ["ROLES", "Status"]


class Status(enum.StrEnum):
    """What a stored run is."""

    running = "running"
    suspended = "suspended"
    interrupted = "interrupted"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"


ROLES: Final[Mapping[str, Role]] = {
    "running": "info",
    "suspended": "warning",
    "interrupted": "warning",
    "completed": "ok",
    "failed": "error",
    "cancelled": "quiet",
}
"""How each is coloured."""
