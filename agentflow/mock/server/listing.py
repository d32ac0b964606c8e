"""The list of models, as each vendor's API tells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["Listing", "anthropic_listing", "openai_listing"]

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """How models are listed: `entry` tells of one, by its name and the time, `whole` of all."""

    entry: Callable[[str, int], Data]
    whole: Callable[[Sequence[Data]], Data]


def _openai_entry(name: str, created: int) -> Data:
    return {"id": name, "object": "model", "created": created, "owned_by": "agentflow-mock"}


def _openai_whole(entries: Sequence[Data]) -> Data:
    return {"object": "list", "data": list(entries)}


def _anthropic_entry(name: str, created: int) -> Data:
    at = datetime.fromtimestamp(created, UTC).isoformat().replace("+00:00", "Z")
    told: Mapping[str, Any] = {"display_name": name, "created_at": at, "lifecycle": "active"}
    return {"type": "model", "id": name, **told}


def _anthropic_whole(entries: Sequence[Data]) -> Data:
    first, last = (entries[0]["id"], entries[-1]["id"]) if entries else (None, None)
    return {"data": list(entries), "has_more": False, "first_id": first, "last_id": last}


openai_listing = Listing(_openai_entry, _openai_whole)
anthropic_listing = Listing(_anthropic_entry, _anthropic_whole)
