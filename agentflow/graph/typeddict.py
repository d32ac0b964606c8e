"""TypedDicts as the standard library of Python 3.11 makes them, read and rebuilt so that pydantic takes them.

Two things go wrong there: pydantic refuses `typing.TypedDict` before 3.12, nested ones too; and under postponed annotations
`__required_keys__` does not know of `NotRequired`. So presence is read from resolved hints, and the classes are
rebuilt with `typing_extensions`.
"""

from __future__ import annotations

import functools
import types
import typing
from typing import Annotated, Any, ForwardRef, NotRequired, Required, Union, get_args, get_origin

import typing_extensions

__all__ = ["is_typeddict", "presence", "rebuilt"]

_make_typeddict: Any = typing_extensions.TypedDict
_QUALIFIERS = {Required: True, NotRequired: False}


def is_typeddict(source: Any) -> bool:
    """Whether `source` is a TypedDict class of either module."""
    return typing_extensions.is_typeddict(source)


def presence(source: Any) -> list[tuple[str, Any, bool]]:
    """The fields of a TypedDict: name, hint without presence qualifiers, and whether it is required."""
    hints = typing_extensions.get_type_hints(source, include_extras=True)
    return [
        (name, *_unqualified(hint, name in source.__required_keys__))
        for name, hint in hints.items()
    ]


def _unqualified(hint: Any, required: bool) -> tuple[Any, bool]:
    origin = get_origin(hint)
    if origin in _QUALIFIERS:
        inner, _ = _unqualified(get_args(hint)[0], required)
        return inner, _QUALIFIERS[origin]
    if origin is typing_extensions.ReadOnly:
        return _unqualified(get_args(hint)[0], required)
    if origin is Annotated:
        base, *extras = get_args(hint)
        inner, required = _unqualified(base, required)
        return Annotated[(inner, *extras)], required
    return hint, required


def rebuilt(hint: Any) -> Any:
    """The hint with every TypedDict in it, however deep, as pydantic takes it."""
    return _Rebuild().of(hint)


class _Rebuild:
    """One pass over a hint; remembers the classes it has rebuilt, so that recursive ones end."""

    def __init__(self) -> None:
        self.done: dict[Any, Any] = {}

    def of(self, hint: Any) -> Any:
        if isinstance(hint, str | ForwardRef):
            return hint
        if is_typeddict(hint):
            return self.typeddict(hint)
        origin, args = get_origin(hint), get_args(hint)
        if not args:
            return hint
        if origin is Annotated:
            return Annotated[(self.of(args[0]), *args[1:])]
        if origin is typing.Literal:
            return hint
        new = tuple(
            [self.of(item) for item in arg] if isinstance(arg, list) else self.of(arg)
            for arg in args
        )
        if all(mine is theirs for mine, theirs in zip(new, args, strict=True)):
            return hint
        if origin is types.UnionType:
            return functools.reduce(lambda left, right: Union[left, right], new)  # noqa: UP007
        if hasattr(hint, "copy_with"):
            return hint.copy_with(new)
        return origin[new]

    def typeddict(self, source: Any) -> Any:
        if source in self.done:
            return self.done[source]
        made: Any = _make_typeddict(source.__name__, {})
        self.done[source] = made
        fields = presence(source)
        made.__annotations__ = {
            name: (Required if required else NotRequired)[self.of(hint)]
            for name, hint, required in fields
        }
        made.__required_keys__ = frozenset(name for name, _, required in fields if required)
        made.__optional_keys__ = frozenset(name for name, _, required in fields if not required)
        made.__doc__ = source.__doc__
        made.__module__ = source.__module__
        config = getattr(source, "__pydantic_config__", None)
        if config is not None:
            made.__pydantic_config__ = config
        return made
