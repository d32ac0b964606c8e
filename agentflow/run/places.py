"""Places: where frames and visits stand below their run, as in `/outer#1/inner#2` or `/fan#1[branch]/inner#1`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["is_below", "named", "place_of", "shares_of", "upwards"]

_VISIT: Final = re.compile(r"[^#]*#[0-9]+")
"""The visit that the last step of a frame's path belongs to, whatever its attempt or its branch."""


def place_of(body: Mapping[str, Any]) -> str:
    """The place of the visit that an entry belongs to."""
    return f"{body['frame']}/{body['node']}#{body['visit']}"


def upwards(place: str) -> Iterator[str]:
    """The place of a visit, and those of the visits around it."""
    while place:
        yield place
        frame = place.rpartition("/")[0]
        above, _, step = frame.rpartition("/")
        place = f"{above}/{_VISIT.match(step)[0]}" if step else ""  # type: ignore[index]


def shares_of(place: str) -> Iterator[str]:
    """The frames around a visit that stand beside others of their visit, as branches and sub-agents do, which may have a share."""
    frame = place.rpartition("/")[0]
    while frame:
        if frame.endswith("]"):
            yield frame
        frame = frame.rpartition("/")[0]


def is_below(inner: str, place: str) -> bool:
    """Whether a frame or a visit is that of a visit, or of something inside of it."""
    # The frame of a visit's first attempt is the visit's place; those of further ones end in `.2`, `.3` …, and those of
    # branches in their key, as in `[weather]`.
    return inner == place or inner.startswith((f"{place}/", f"{place}.", f"{place}["))


def named(frame: str, node: str) -> str:
    """A node with those around it, as messages tell it: `outer/inner`."""
    return "/".join([*(step.partition("#")[0] for step in frame.split("/")[1:]), node])
