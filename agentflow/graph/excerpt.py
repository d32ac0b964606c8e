"""Excerpts: a value as messages show it, on one line, short, whatever it is."""

from __future__ import annotations

__all__ = ["excerpt"]

_MOST = 80


def excerpt(value: object) -> str:
    """The `repr` of a value on one line and cut to 80 characters; never raises."""
    try:
        text = " ".join(repr(value).splitlines())
    except Exception as error:
        # A message about a mistake must not fail because of the mistake.
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."
