"""Annotations: what a type says of its values, as far as it can be told without a value."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typing_extensions

if TYPE_CHECKING:
    from agentflow.graph.schema import Schema

__all__ = [
    "annotation_at",
    "closed_values",
    "distinct",
    "is_union",
    "may_hold",
    "members",
    "unknown",
]


def _values_of(annotation: Any) -> Any:
    """The type that has the same values, under no other name and without the remarks of `Annotated`."""
    while True:
        if isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, typing_extensions.TypeAliasType):
            annotation = annotation.__value__
        elif get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def closed_values(annotation: Any) -> list[Any] | None:
    """Every value of a type with finitely many, or `None`."""
    annotation = _values_of(annotation)
    if annotation is None or annotation is type(None):
        return [None]
    if annotation is bool:
        return [False, True]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return None if issubclass(annotation, enum.Flag) else list(annotation)
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if is_union(annotation):
        parts = [closed_values(part) for part in get_args(annotation)]
        if any(part is None for part in parts):
            return None
        return distinct([value for part in parts if part is not None for value in part])
    return None


def is_union(annotation: Any) -> bool:
    """Whether a type is a union, in either spelling."""
    return get_origin(annotation) in (typing.Union, types.UnionType)


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type alone; `Annotated`, `NewType` and aliases are looked through."""
    annotation = _values_of(annotation)
    if is_union(annotation):
        return tuple(member for part in get_args(annotation) for member in members(part))
    return (annotation,)


def unknown(annotation: Any) -> bool:
    """Whether a type says nothing of its values."""
    return annotation in (Any, object) or isinstance(annotation, TypeVar)


def may_hold(annotation: Any, value: Any) -> bool:
    """Whether a value can be one of the type; what cannot be told may."""
    checker = None if unknown(annotation) else _strict(annotation)
    return True if checker is None else checker(value)


def _strict(annotation: Any) -> Callable[[Any], bool] | None:
    from pydantic import TypeAdapter, ValidationError

    from agentflow.graph.typeddict import rebuilt

    try:
        validator = TypeAdapter[Any](rebuilt(annotation)).validator
    except Exception:
        # A type that pydantic does not know tells nothing.
        return None

    def check(value: Any) -> bool:
        try:
            validator.validate_python(value, strict=True)
        except ValidationError:
            # True and 1 are equal, so a bool may meet a field of numbers.
            return isinstance(value, bool) and check(int(value))
        except Exception:
            return True
        return True

    return check


def annotation_at(schema: Schema, name: str) -> Any:
    """The type of a field, `Any` where it cannot be told."""
    spec = schema.fields.get(name) if schema.typed else None
    return Any if spec is None else spec.annotation


def distinct(values: list[Any]) -> list[Any]:
    """The values without those that are there already; `1` and `True` are two."""
    found: list[Any] = []
    for value in values:
        if not any(
            value is other or (type(value) is type(other) and value == other) for other in found
        ):
            found.append(value)
    return found
