"""The judge: compares what two types stand for, part by part."""

from __future__ import annotations

import collections
import collections.abc
import enum
from collections.abc import Callable, Iterable
from typing import Any

from agentflow.graph.fit.annotation import meaning
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
from agentflow.graph.fit.relation import FITS, MAY, NEVER, Relation, Sense, every, some, whole
from agentflow.graph.typeddict import presence

__all__ = ["Judge"]

_CONCRETE = (list, set, frozenset, tuple, collections.deque)


class Judge:
    """Compares types, by one sense of what becomes of a value on its way.

    Args:
        sense: How values are taken.
        filled: Whether containers are spoken of as if they were never empty.
    """

    def __init__(self, sense: Sense, *, filled: bool = False) -> None:
        self.sense = sense
        self.filled = filled
        self._open: set[tuple[int, int]] = set()

    def between(self, source: Any, target: Any) -> Relation:
        """The relation of two annotations; `may fit` where something raises."""
        try:
            return self._between(source, target)
        except Exception:
            # Asking classes of the author's what they are may run code of theirs, which may raise anything.
            return MAY

    def _between(self, source: Any, target: Any) -> Relation:
        key = id(source), id(target)
        if key in self._open:
            # A type that holds itself: what lies below is what is being asked already.
            return MAY
        self._open.add(key)
        try:
            return self._meant(meaning(source), meaning(target))
        finally:
            self._open.discard(key)

    def _meant(self, source: Meaning, target: Meaning) -> Relation:
        if isinstance(target, Anything):
            return FITS
        if isinstance(source, Unknown | Anything | Callables) or isinstance(target, Unknown):
            return MAY
        if isinstance(source, Narrowed):
            return self._meant(meaning(source.inner), target)
        if isinstance(source, Either):
            return every(self._meant(meaning(part), target) for part in source.members)
        if isinstance(target, Narrowed):
            inner = self._meant(source, meaning(target.inner))
            return NEVER if inner == NEVER else MAY
        if isinstance(source, Values):
            return every(self._value(value, target) for value in source.values)
        if isinstance(source, Choice):
            return every(self._value(value, target) for value in source.kind)
        if isinstance(target, Either):
            return self._any_of(target, lambda part: self._meant(source, part))
        return self._pair(source, target)

    def _value(self, value: Any, target: Meaning) -> Relation:
        match target:
            case Either():
                return self._any_of(target, lambda part: self._value(value, part))
            case Narrowed(inner):
                return NEVER if self._value(value, meaning(inner)) == NEVER else MAY
            case Plain() | Values() | Choice():
                return self.sense.value(value, target)
            case Anything():
                return FITS
            case Unknown():
                return MAY
            case Instance():
                return self.sense.instance(Values((value,)), target)
            case Many() if type(value) in (str, bytes):
                return self._pair(Plain(type(value)), target)
        # What is listed is no container, but an enum may mix anything in.
        return MAY if isinstance(value, enum.Enum) else NEVER

    def _any_of(self, target: Either, ask: Callable[[Meaning], Relation]) -> Relation:
        parts = [meaning(part) for part in target.members]
        found = some(map(ask, parts))
        # A part of which nothing is known may raise, however deep it lies, and then the others are not asked.
        return MAY if found == FITS and any(_may_raise(part, {}) for part in parts) else found

    def _pair(self, source: Meaning, target: Meaning) -> Relation:
        match source, target:
            case Plain(), Plain():
                return self.sense.plain(source.kind, target.kind)
            case Plain(), Values() | Choice():
                return self.sense.named(source.kind, target)
            case Plain(), Many():
                # A text is a sequence of texts, as far as classes tell.
                return MAY if issubclass(source.kind, target.kind) else NEVER
            case _, Instance():
                return self.sense.instance(source, target)
            case Instance(), _:
                return self.sense.object(source, target)
            case Many() | Row(), _:
                return self._items(source, target)
            case Keyed() | Record(), _:
                return self._fields(source, target)
        return NEVER

    def _items(self, source: Many | Row, target: Meaning) -> Relation:
        kind = source.kind if isinstance(source, Many) else tuple
        if kind not in _CONCRETE:
            # Of what is behind an abstract class too little is known: a text is a sequence as well.
            return MAY
        match source, target:
            case _, Plain(wanted):
                return self.sense.collected(kind, wanted)
            case _, Many(wanted) if wanted in self.sense.lazy:
                return MAY
            case Many(), Many(wanted):
                items = self._unless_empty(source.item, target.item)
                return whole((self._gathered(kind, target), items))
            case Row(), Many():
                items = whole(self._between(item, target.item) for item in source.items)
                return whole((self._gathered(kind, target), items))
            case Many(), Row():
                items = whole(self._between(source.item, item) for item in target.items)
                right = self.sense.collected(kind, tuple)
                return NEVER if NEVER in (right, items) else MAY
            case Row(), Row():
                if len(source.items) != len(target.items):
                    return NEVER
                pairs = zip(source.items, target.items, strict=True)
                return whole(self._between(*pair) for pair in pairs)
            case _, Choice():
                return MAY
        return NEVER

    def _gathered(self, kind: type, target: Many) -> Relation:
        found = self.sense.collected(kind, target.kind)
        # What goes into a set must be hashable, which few types promise.
        hashed = issubclass(target.kind, collections.abc.Set)
        if hashed and not isinstance(meaning(target.item), Plain | Values | Choice):
            return whole((found, MAY))
        return found

    def _unless_empty(self, source: Any, target: Any) -> Relation:
        found = self._between(source, target)
        return MAY if found == NEVER and not self.filled else found

    def _fields(self, source: Keyed | Record, target: Meaning) -> Relation:
        match source, target:
            case Keyed(), Keyed():
                return whole(
                    (
                        self._mapping(source.kind, target.kind),
                        self._unless_empty(source.key, target.key),
                        self._unless_empty(source.value, target.value),
                    )
                )
            case Record(), Keyed():
                return whole((self._mapping(dict, target.kind), *self._named_parts(source, target)))
            case _, Record() if _configured(target):
                return MAY
            case Keyed(), Record():
                return self._to_record(source, target)
            case Record(), Record():
                return self._between_records(source, target)
            case _, Many(kind):
                return MAY if issubclass(dict, kind) else NEVER
            case _, Choice():
                return MAY
        return NEVER

    def _mapping(self, source: type, target: type) -> Relation:
        return FITS if issubclass(source, target) else MAY

    def _named_parts(self, source: Record, target: Keyed) -> Iterable[Relation]:
        for name, hint, required in presence(source.source):
            found = whole(
                (self._value(name, meaning(target.key)), self._between(hint, target.value))
            )
            yield MAY if found == NEVER and not required else found
        if _configured(source):
            yield MAY

    def _to_record(self, source: Keyed, target: Record) -> Relation:
        needed = [hint for _, hint, required in presence(target.source) if required]
        if not needed:
            return MAY
        keys = self._between(source.key, str)
        found = whole((keys, *(self._between(source.value, hint) for hint in needed)))
        return NEVER if found == NEVER else MAY

    def _between_records(self, source: Record, target: Record) -> Relation:
        given = {name: (hint, required) for name, hint, required in presence(source.source)}
        open_ended = _configured(source)
        found: list[Relation] = []
        for name, wanted, required in presence(target.source):
            if name not in given:
                if required:
                    found.append(MAY if open_ended else NEVER)
                continue
            hint, sure = given[name]
            part = self._between(hint, wanted)
            if not sure and (part == NEVER or required):
                part = MAY
            found.append(part)
        return whole(found)


def _may_raise(meant: Meaning, seen: dict[int, Any]) -> bool:
    """Whether taking a value may run code of the author's, which may raise anything, and not only what refuses it."""
    match meant:
        case Unknown():
            return True
        case Narrowed(inner):
            inside = [inner]
        case Either(members):
            inside = list(members)
        case Many(_, item):
            inside = [item]
        case Row(items):
            inside = list(items)
        case Keyed(_, key, value):
            inside = [key, value]
        case Record(source):
            inside = [hint for _, hint, _ in presence(source)]
        case _:
            return False
    fresh = [part for part in inside if id(part) not in seen]
    # The parts are kept, so that no other gets the id of one.
    seen |= {id(part): part for part in fresh}
    return any(_may_raise(meaning(part), seen) for part in fresh)


def _configured(record: Record) -> bool:
    """Whether pydantic has been told to take a TypedDict in a way of its own."""
    return bool(getattr(record.source, "__pydantic_config__", None))
