"""Annotations, read for what they stand for: in every spelling, by classes of the author's too, without ever raising."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import sys
import types
import typing
import uuid
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typing_extensions

from agentflow.graph.fit.meaning import (
    Anything,
    Callables,
    Choice,
    Either,
    Instance,
    Keyed,
    Many,
    Meaning,
    Narrowed,
    Plain,
    Record,
    Row,
    Unknown,
    Values,
)
from agentflow.graph.typeddict import is_typeddict

__all__ = ["PLAIN", "can_be_called", "is_model", "meaning"]

PLAIN: Final = frozenset(
    {
        *(bool, int, float, decimal.Decimal, str, bytes, uuid.UUID),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(pathlib.PurePath, pathlib.Path),
        *(pathlib.PurePosixPath, pathlib.PosixPath, pathlib.PureWindowsPath, pathlib.WindowsPath),
    }
)
_MANY = frozenset(
    {
        *(list, set, frozenset, collections.deque, tuple),
        *(collections.abc.Sequence, collections.abc.MutableSequence),
        *(collections.abc.Set, collections.abc.MutableSet),
        *(collections.abc.Collection, collections.abc.Iterable),
    }
)
_KEYED = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})
_QUALIFIERS = (
    typing.Required,
    typing.NotRequired,
    typing.Final,
    typing.ClassVar,
    typing_extensions.ReadOnly,
)


def meaning(annotation: Any) -> Meaning:
    """What an annotation stands for; `Unknown` for whatever is strange, never an error."""
    try:
        return _meaning(annotation)
    except Exception:
        # Asking a class of the author's what it is may run code of theirs, which may raise anything.
        return Unknown()


def _meaning(annotation: Any) -> Meaning:
    if annotation is Any or annotation is object:
        return Anything()
    if annotation is None or annotation is type(None):
        return Values((None,))
    if isinstance(annotation, typing.NewType):
        return _meaning(annotation.__supertype__)
    if isinstance(annotation, typing_extensions.TypeAliasType):
        return _meaning(annotation.__value__)
    if is_typeddict(annotation):
        return Record(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(args[0], args[1:])
    if origin is Literal:
        return Values(args)
    if origin in (typing.Union, types.UnionType):
        return Either(args)
    if origin in _QUALIFIERS:
        return _meaning(args[0])
    if origin is None:
        return _class(annotation) if isinstance(annotation, type) else Unknown()
    if origin is tuple:
        return _tuple(annotation, args)
    return _container(origin, args) or Unknown()


def _tuple(annotation: Any, args: tuple[Any, ...]) -> Meaning:
    if annotation is typing.Tuple:  # noqa: UP006 - the very object is meant
        return Many(tuple)
    if len(args) == 2 and args[1] is ...:
        return Many(tuple, args[0])
    unpacked = any(
        isinstance(arg, typing.TypeVarTuple)
        or getattr(arg, "__unpacked__", False)
        or get_origin(arg) is typing.Unpack
        for arg in args
    )
    return Unknown() if unpacked else Row(args)


def _container(kind: Any, args: tuple[Any, ...]) -> Meaning | None:
    if kind in _MANY:
        return Many(kind, *args)
    if kind in _KEYED:
        return Keyed(kind, *args)
    if kind is type or kind is collections.abc.Callable:
        return Callables()
    return None


def _class(kind: type) -> Meaning:
    if issubclass(kind, enum.Enum):
        strange = issubclass(kind, enum.Flag) or hasattr(kind, "__get_pydantic_core_schema__")
        return Unknown() if strange else Choice(kind)
    if kind in PLAIN:
        return Plain(kind)
    return _container(kind, ()) or (Instance(kind) if _only_its_own(kind) else Unknown())


def _only_its_own(kind: type) -> bool:
    """Whether an object is of this class only by being made by it, and no kind of anything that pydantic knows."""
    from pydantic import BaseModel, RootModel

    if issubclass(kind, BaseModel):
        own = BaseModel.__get_pydantic_core_schema__.__func__  # type: ignore[attr-defined]
        made = getattr(kind.__get_pydantic_core_schema__, "__func__", None)
        return not issubclass(kind, RootModel) and made is own
    if type(kind) is not type or typing_extensions.is_protocol(kind):
        return False
    if hasattr(kind, "__get_pydantic_core_schema__") or hasattr(kind, "__get_validators__"):
        return False
    return not any(
        base.__module__.partition(".")[0] in sys.stdlib_module_names
        for base in kind.__mro__
        if base not in (object, typing.Generic)
    )


def _annotated(inner: Any, extras: tuple[Any, ...]) -> Meaning:
    kept = [_keeps(extra) for extra in extras]
    if None in kept:
        return Unknown()
    return Narrowed(inner) if True in kept else _meaning(inner)


def _keeps(extra: Any) -> bool | None:
    """Whether a mark on a type refuses some of its values; `None` if it may make others of them."""
    from annotated_types import BaseMetadata, GroupedMetadata
    from pydantic import Strict
    from pydantic.fields import FieldInfo

    if isinstance(extra, FieldInfo):
        inner = [_keeps(part) for part in extra.metadata]
        return None if None in inner or extra.discriminator is not None else True in inner
    if getattr(extra, "coerce_numbers_to_str", None):
        return None
    if isinstance(extra, BaseMetadata | GroupedMetadata | Strict):
        return True
    known_to_pydantic = type(extra).__module__.startswith("pydantic")
    return None if known_to_pydantic or hasattr(extra, "__get_pydantic_core_schema__") else False


def is_model(kind: type) -> bool:
    """Whether pydantic can make an object of this class from a dict."""
    from pydantic import BaseModel

    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)


def can_be_called(kind: type) -> bool:
    """Whether the objects of a class can be called."""
    return any("__call__" in vars(base) for base in kind.__mro__)
