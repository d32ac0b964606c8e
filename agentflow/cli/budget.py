"""`--budget name=value` from a shell to a `Budget`, with errors that list the names."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable

import typer

from agentflow.graph.limits import Budget

__all__ = ["budget_of"]

_NAMES = tuple(field.name for field in dataclasses.fields(Budget))
_FRACTIONAL = frozenset({"cost", "seconds"})


def budget_of(options: Iterable[str]) -> Budget | None:
    """The budget of options such as `model_calls=3` or `rounds=5,seconds=20`; `None` without any.

    Raises:
        BadParameter: A name or a value is none.
    """
    limits: dict[str, float] = {}
    for option in (part for text in options for part in text.split(",")):
        name, equals, value = (part.strip() for part in option.partition("="))
        if not equals:
            raise _bad(f"{option!r} is no limit: write name=value, such as model_calls=3")
        if name not in _NAMES:
            close = difflib.get_close_matches(name, _NAMES, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise _bad(f"there is no limit {name!r}.{meant} The limits are {', '.join(_NAMES)}.")
        if name in limits:
            raise _bad(f"the limit {name!r} is given twice")
        limits[name] = _value(name, value)
    return Budget(**limits) if limits else None  # type: ignore[arg-type]


def _value(name: str, text: str) -> float:
    try:
        value = float(text) if name in _FRACTIONAL else int(text)
        Budget(**{name: value})  # type: ignore[arg-type]
    except ValueError:
        wanted = "a number" if name in _FRACTIONAL else "a whole number"
        raise _bad(f"{name}={text!r}: this limit takes {wanted} of at least 0") from None
    return value


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--budget")
