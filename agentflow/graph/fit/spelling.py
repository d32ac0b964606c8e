"""Types as messages spell them: short, without modules, as an author would write them."""

from __future__ import annotations

import enum
import types
import typing
from typing import Annotated, Any, Literal, get_args, get_origin

from agentflow.graph.excerpt import excerpt

__all__ = ["spelled"]

_MOST = 80


def spelled(annotation: Any) -> str:
    """A type in words; never raises."""
    try:
        text = _spelled(annotation)
    except Exception:
        # A class of the author's may raise anything when it is asked for its name.
        text = excerpt(annotation)
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."


def _spelled(annotation: Any) -> str:
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is ...:
        return "..."
    if isinstance(annotation, list):
        return f"[{_listed(annotation)}]"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _spelled(args[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(_value, args))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_spelled, args))
    name = getattr(origin or annotation, "__name__", None)
    if not isinstance(name, str):
        return excerpt(annotation)
    return f"{name}[{_listed(args)}]" if args else name


def _listed(args: Any) -> str:
    return ", ".join(map(_spelled, args))


def _value(value: Any) -> str:
    return str(value) if isinstance(value, enum.Enum) else excerpt(value)
