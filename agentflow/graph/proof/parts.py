"""Parts: what a type says of what lies below its values, by key or attribute."""

from __future__ import annotations

import datetime
import enum
import typing
from collections.abc import Mapping, MutableMapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from agentflow.graph.proof.annotation import closed_values, may_hold, unknown
from agentflow.graph.proof.gaps import NUMBERS

if TYPE_CHECKING:
    from agentflow.graph.schema import FieldSpec

__all__ = ["class_of", "field_below", "first_item", "is_told", "nothing_below"]

_MAPPINGS: Final = (dict, Mapping, MutableMapping)
"""Mappings whose arguments are the types of their keys and values."""

_DATE: Final = dict.fromkeys(("year", "month", "day"), int)
_TIME: Final = dict.fromkeys(("hour", "minute", "second", "microsecond", "fold"), int)

_BUILTIN: Final[dict[Any, dict[str, Any]]] = {
    int: dict.fromkeys(("real", "imag", "numerator", "denominator"), int),
    float: dict.fromkeys(("real", "imag"), float),
    complex: dict.fromkeys(("real", "imag"), float),
    Decimal: dict.fromkeys(("real", "imag"), Decimal),
    Fraction: {"real": Fraction, "imag": int, "numerator": int, "denominator": int},
    datetime.date: _DATE,
    datetime.time: _TIME,
    datetime.datetime: {**_DATE, **_TIME},
    datetime.timedelta: dict.fromkeys(("days", "seconds", "microseconds"), int),
}
"""Of just these classes: what a class of the author's makes of an attribute cannot be told."""


def field_below(annotation: Any, part: str) -> FieldSpec | None:
    """What a type says of the key or attribute `part` of its values; `None` where it says nothing.

    A key of a `dict[str, …]` may be missing.
    """
    from agentflow.graph.schema import FieldSpec, schema_of
    from agentflow.graph.typeddict import is_typeddict

    if get_origin(annotation) in _MAPPINGS and get_args(annotation):
        key, value = get_args(annotation)
        return FieldSpec(part, value) if may_hold(key, part) else None
    if not (is_typeddict(annotation) or isinstance(annotation, type)):
        return None
    hint = _attribute_of(annotation, part)
    if hint is not None:
        return FieldSpec(part, hint, required=True)
    return schema_of(annotation).fields.get(part)


def first_item(kind: Any, made: type) -> Any:
    """The type of the first item of a kind of tuples, which are of the class `made`; `Any` where it cannot be told."""
    names = getattr(made, "_fields", ())
    if names:
        spec = field_below(made, names[0])
        return Any if spec is None else spec.annotation
    return next(iter(get_args(kind)), Any)


def class_of(kind: Any) -> type | None:
    """The class that values of a kind are of; `None` where that cannot be told."""
    made = get_origin(kind) or kind
    if not isinstance(made, type) or unknown(kind):
        return None
    # Such as AwareDatetime, of which no value is an instance.
    return None if made.__module__.partition(".")[0] == "pydantic" else made


def nothing_below(kind: Any, part: str) -> bool:
    """Whether values of a builtin kind surely have no such key or attribute."""
    made = class_of(kind)
    if made is None or issubclass(made, Mapping):
        return False
    return (made.__module__ == "builtins" or made in NUMBERS) and not hasattr(made, part)


def is_told(kind: Any, part: str) -> bool:
    """Whether the type of all that may lie there below values of a kind is known."""
    from agentflow.graph.fit.below import below

    if field_below(kind, part) is not None or nothing_below(kind, part):
        return True
    # Listed values can be asked themselves.
    return closed_values(kind) is not None or not below(kind, part).open


def _attribute_of(kind: Any, part: str) -> Any:
    """The type of an attribute that every value of a class has; `None` where that cannot be told."""
    if not isinstance(kind, type):
        return None
    if kind in _BUILTIN:
        return _BUILTIN[kind].get(part)
    owner = next((each for each in kind.__mro__ if part in vars(each)), None)
    if issubclass(kind, enum.Flag):
        # A flag that is made of several has their names, or none.
        return str | None if part == "name" and owner is enum.Enum else None
    # A class that is derived from a named tuple may have put something else in the place of a field.
    if owner is not None and issubclass(kind, tuple) and part in vars(owner).get("_fields", ()):
        return _hint(owner, part)
    return None


def _hint(owner: type, part: str) -> Any:
    try:
        return typing.get_type_hints(owner, include_extras=True).get(part)
    except Exception:
        # A name that cannot be resolved tells nothing.
        return None
