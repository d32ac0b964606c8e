"""The options of a store, as its URL gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["LEASE", "lease_of", "refuse_unknown"]

LEASE: Final = 30.0
"""Seconds after which a driver on another machine counts as dead, if it has not said that it is alive."""


def lease_of(url: str, text: str | None) -> float:
    """The length of the lease in seconds.

    Raises:
        ValueError: It is no positive number.
    """
    if text is None:
        return LEASE
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"store={url!r}: lease={text!r} is no positive number of seconds")
    return seconds


def refuse_unknown(url: str, given: Mapping[str, str], known: Sequence[str]) -> None:
    """Refuse options that a store does not have.

    Raises:
        ValueError: There is one; lists those that it has.
    """
    for name in given:
        if name not in known:
            raise ValueError(
                f"store={url!r}: there is no option {name!r}; there are {', '.join(known)}"
            )
