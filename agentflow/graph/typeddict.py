"""TypedDicts as the standard library of Python 3.11 makes them, read and rebuilt so that pydantic takes them.

Two things go wrong there: pydantic refuses `typing.TypedDict` before 3.12, nested ones too; and under postponed annotations
`__required_keys__` does not know of `NotRequired`. So presence is read from resolved hints, and the classes are
rebuilt with `typing_extensions`.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    ForwardRef,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import typing_extensions

__all__ = ["is_typeddict", "presence", "rebuilt"]

_make_typeddict: Any = typing_extensions.TypedDict
_QUALIFIERS = {Required: True, NotRequired: False}


def is_typeddict(source: Any) -> bool:
    """Whether `source` is a TypedDict class of either module, or a generic one with its arguments."""
    return typing_extensions.is_typeddict(get_origin(source) or source)


def presence(source: Any) -> list[tuple[str, Any, bool]]:
    """The fields of a TypedDict: name, hint without presence qualifiers, and whether it is required."""
    made = get_origin(source) or source
    given = dict(zip(getattr(made, "__parameters__", ()), get_args(source), strict=False))
    hints = typing_extensions.get_type_hints(made, include_extras=True)
    return [
        (name, *_unqualified(_filled(hint, given), name in made.__required_keys__))
        for name, hint in hints.items()
    ]


def _filled(hint: Any, given: dict[Any, Any]) -> Any:
    """The hint with type variables replaced by what they were given."""
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    open_ones = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(each, each) for each in open_ones)] if given and open_ones else hint


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


def rebuilt(hint: Any, *, config: Mapping[str, Any] | None = None) -> Any:
    """The hint with every TypedDict in it, however deep, as pydantic takes it; `config` is added to theirs."""
    return _Rebuild(config or {}).of(hint)


class _Rebuild:
    """One pass over a hint; remembers the classes it has rebuilt, so that recursive ones end."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
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
        name = (get_origin(source) or source).__name__
        made: Any = _make_typeddict(name, {})
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
        config = {**(getattr(source, "__pydantic_config__", None) or {}), **self.config}
        if config:
            made.__pydantic_config__ = config
        return made
