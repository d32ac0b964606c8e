"""What functions say of themselves: the types in their signatures, resolved one by one, without ever raising."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import typing_extensions

__all__ = ["bare", "returned_type", "state_type"]


def state_type(function: Callable[..., Any]) -> Any:
    """The type of the first argument, `Any` if the function does not say, or not so that it can be resolved."""
    signature = _signature(function)
    first = next(iter(signature.parameters.values()), None) if signature else None
    if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_POSITIONAL, first.VAR_KEYWORD):
        return Any
    return _resolved(first.annotation, function)


def returned_type(function: Callable[..., Any]) -> Any:
    """The type of what is returned, of what is awaited of an async function; `Any` if it is not known."""
    signature = _signature(function)
    return _resolved(signature.return_annotation, function) if signature else Any


def bare(annotation: Any) -> Any:
    """A type without the remarks that `Annotated` puts on it."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except Exception:
        # Builtins have none, and where annotations are evaluated late this runs code of the author's.
        return None


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    if annotation is inspect.Signature.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        names = getattr(_innermost(function), "__globals__", {})
        return typing_extensions.get_type_hints(holder, names, include_extras=True)["it"]
    except (Exception, SystemExit):
        # An annotation in quotes is code of the author's: it may name what is not there, or do anything.
        return Any


def _innermost(function: Any) -> Any:
    """The function whose module the annotations were written in."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.unwrap(function)
