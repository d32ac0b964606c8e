"""Values read as they are: nothing becomes anything else on its way."""

from __future__ import annotations

from typing import Any

from agentflow.graph.fit.annotation import can_be_called
from agentflow.graph.fit.meaning import (
    Callables,
    Choice,
    Instance,
    Keyed,
    Many,
    Meaning,
    Plain,
    Values,
)
from agentflow.graph.fit.relation import FITS, MAY, NEVER, Listed, Relation

__all__ = ["Unconverted"]


class Unconverted:
    """The sense of a reader: a value is what its class says, and an `int` will do for a `float`."""

    lazy = frozenset[type]()

    def plain(self, source: type, target: type) -> Relation:
        if target is float and issubclass(source, int):
            return FITS
        return self.collected(source, target)

    def value(self, value: Any, target: Listed) -> Relation:
        match target:
            case Values(values):
                same = any(type(value) is type(one) and value == one for one in values)
                return FITS if same else NEVER
            case Choice(kind) | Plain(kind):
                return FITS if self.plain(type(value), kind) == FITS else NEVER

    def named(self, source: type, target: Values | Choice) -> Relation:
        wanted = target.kind if isinstance(target, Choice) else target.values
        return MAY if any(isinstance(one, source) for one in wanted) else NEVER

    def collected(self, source: type, target: type) -> Relation:
        if issubclass(source, target):
            return FITS
        return MAY if issubclass(target, source) else NEVER

    def instance(self, source: Meaning, target: Instance) -> Relation:
        if not isinstance(source, Instance):
            return NEVER
        return self.collected(source.kind, target.kind)

    def object(self, source: Instance, target: Meaning) -> Relation:
        match target:
            case Callables():
                return MAY if can_be_called(source.kind) else NEVER
            case Many(wanted) | Keyed(wanted):
                return MAY if issubclass(source.kind, wanted) else NEVER
        return NEVER
