"""Times and durations as a shell user reads and writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

__all__ = ["duration_of", "moment"]

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def moment(time: datetime) -> str:
    """A time to the second, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def duration_of(text: str, option: str) -> timedelta:
    """The duration that a text such as `30d`, `12h` or `1w3d` means.

    Args:
        text: The text.
        option: The option that it was given to, for the error.

    Raises:
        BadParameter: It means none.
    """
    try:
        if not _DURATION.fullmatch(text):
            raise ValueError(text)
        parts = {_UNITS[unit]: float(number) for number, unit in _PART.findall(text)}
        return timedelta(**parts)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is no duration: write a number and s, m, h, d or w, such as 30d",
            param_hint=option,
        ) from None
