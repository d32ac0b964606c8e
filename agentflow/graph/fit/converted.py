"""Values that a contract takes: what pydantic makes of them in its usual lax mode.

Text may be read as a number, a number as a point in time, a list as a tuple. What is called impossible here is so in every release
of pydantic that the project supports; where releases differ, a value may fit.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import enum
import functools
import pathlib
from typing import TYPE_CHECKING, Any, Literal

from agentflow.graph.fit.annotation import PLAIN, can_be_called, is_model
from agentflow.graph.fit.meaning import (
    Callables,
    Choice,
    Instance,
    Keyed,
    Many,
    Meaning,
    Plain,
    Record,
    Row,
    Values,
)
from agentflow.graph.fit.relation import FITS, MAY, NEVER, Listed, Relation

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Converted"]

_TEXTS = (str, bytes)
_NUMBERS = (bool, int, float, decimal.Decimal)
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_DAYS = (datetime.date, datetime.datetime)
_SURE = frozenset({(bool, int), (bool, float), (int, decimal.Decimal), (str, bytes)})
_REBUILT = (
    *(list, set, frozenset, tuple, collections.deque),
    *(collections.abc.MutableSequence, collections.abc.Set, collections.abc.MutableSet),
)
_NUMBERLIKE = ("__int__", "__index__", "__float__", "__complex__", "__fspath__")


class Converted:
    """The sense of a contract: a value may become another on its way in."""

    lazy: frozenset[type] = frozenset({collections.abc.Iterable, collections.abc.Collection})

    def plain(self, source: type, target: type) -> Relation:
        if source is target or (source, target) in _SURE:
            return FITS
        if source in _TEXTS:
            return MAY
        if source in _NUMBERS:
            return MAY if issubclass(target, _NUMBERS + _TIMES) else NEVER
        if source in _DAYS:
            return MAY if target in _DAYS else NEVER
        paths = issubclass(source, pathlib.PurePath) and issubclass(target, pathlib.PurePath)
        return MAY if paths else NEVER

    def value(self, value: Any, target: Listed) -> Relation:
        if isinstance(target, Choice) and _chooses_itself(target.kind):
            return MAY
        wanted = Literal[target.values] if isinstance(target, Values) else target.kind
        return FITS if _takes(wanted, value) else NEVER

    def named(self, source: type, target: Values | Choice) -> Relation:
        # 1, 1.0 and True are equal, and so are a text and a member of an enum of texts.
        alike = _NUMBERS if source in _NUMBERS else (source,)
        if isinstance(target, Values):
            return MAY if any(isinstance(value, alike) for value in target.values) else NEVER
        if _chooses_itself(target.kind):
            return MAY
        possible = any(
            isinstance(member, alike)
            or type(member.value) not in PLAIN
            or self.plain(source, type(member.value)) != NEVER
            for member in target.kind
        )
        return MAY if possible else NEVER

    def collected(self, source: type, target: type) -> Relation:
        if target in _REBUILT:
            return FITS
        if target is decimal.Decimal:
            # A decimal can be made of its sign, its digits and its exponent.
            return MAY if source in (list, tuple) else NEVER
        return FITS if issubclass(source, target) else NEVER

    def instance(self, source: Meaning, target: Instance) -> Relation:
        if _has_rules_of_its_own(target.kind):
            return MAY
        match source:
            case Instance(kind) if issubclass(kind, target.kind):
                return FITS
            case Instance(kind) if issubclass(target.kind, kind):
                return MAY
            case Keyed() | Record() if is_model(target.kind):
                return MAY
        return NEVER

    def object(self, source: Instance, target: Meaning) -> Relation:
        match target:
            case Plain():
                number = any(hasattr(source.kind, name) for name in _NUMBERLIKE)
                return MAY if number else NEVER
            case Many() | Row():
                return MAY if issubclass(source.kind, collections.abc.Iterable) else NEVER
            case Keyed() | Record():
                return NEVER
            case Callables():
                return MAY if can_be_called(source.kind) else NEVER
        return MAY


@functools.lru_cache(maxsize=256)
def _adapter(wanted: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(wanted)


def _takes(wanted: Any, value: Any) -> bool:
    from pydantic import ValidationError

    try:
        _adapter(wanted).validate_python(value)
    except ValidationError:
        return False
    return True


def _chooses_itself(kind: type[enum.Enum]) -> bool:
    """Whether an enum finds members for values that are not theirs."""
    return getattr(kind._missing_, "__func__", None) is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]


def _has_rules_of_its_own(kind: type) -> bool:
    """Whether a class may take more, or less, than dicts with its fields and objects of its own."""
    config = {**getattr(kind, "model_config", {}), **getattr(kind, "__pydantic_config__", {})}
    decorators = getattr(kind, "__pydantic_decorators__", None)
    return bool(
        config.keys() & {"from_attributes", "revalidate_instances"}
        or (decorators is not None and decorators.model_validators)
    )
