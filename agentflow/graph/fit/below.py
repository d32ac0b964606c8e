"""Below a value: which of a type's values have a key or an attribute, told from the type alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from agentflow.graph.fit.annotation import is_model, meaning
from agentflow.graph.fit.meaning import (
    Choice,
    Either,
    Instance,
    Many,
    Narrowed,
    Plain,
    Record,
    Row,
    Values,
)
from agentflow.graph.schema import FieldSpec, schema_of

__all__ = ["Below", "below"]


@dataclass(slots=True)
class Below:
    """What a type says of one key or attribute of its values.

    Attributes:
        open: Whether some values may have it although the type does not list it: those of a dict, of a model that allows
            extra fields, of a class that makes up attributes, of a type of which nothing is known.
        found: The types of what it holds where it is listed.
        without: The classes with fields that do not list it.
    """

    open: bool = False
    found: list[Any] = field(default_factory=list)
    without: list[type] = field(default_factory=list)

    def note(self, kind: Any, spec: FieldSpec | None, *, more: bool) -> None:
        """Add a class with fields: the one that is asked for, if it has it, and whether its values may have more."""
        self.open |= more
        if spec is not None:
            self.found.append(spec.annotation)
        elif not more:
            self.without.append(kind)


def below(annotation: Any, part: str) -> Below:
    """What a type says of the key or attribute `part` of its values; never raises."""
    told = Below()
    try:
        _look(annotation, part, told)
    except Exception:
        # Asking a class of the author's what it has may run code of theirs, which may raise anything.
        told.open = True
    return told


def _look(annotation: Any, part: str, told: Below) -> None:
    match meaning(annotation):
        case Either(members):
            for member in members:
                _look(member, part, told)
        case Narrowed(inner):
            _look(inner, part, told)
        case Record(source):
            more = _takes_more(getattr(source, "__pydantic_config__", None))
            told.note(source, _field_of(source, part), more=more)
        case Instance(kind):
            spec = _field_of(kind, part) if is_model(kind) else None
            told.note(kind, spec, more=spec is None and _makes_up(kind, part))
        case Values(values):
            told.open |= any(hasattr(value, part) for value in values)
        case Choice(kind):
            told.open |= any(hasattr(member, part) for member in kind)
        case Plain(kind) | Many(kind):
            told.open |= hasattr(kind, part)
        case Row():
            told.open |= hasattr(tuple, part)
        case _:
            told.open = True


def _field_of(kind: Any, part: str) -> FieldSpec | None:
    schema = schema_of(kind)
    if any(problem.field is None for problem in schema.problems):
        raise TypeError(f"the fields of {kind} cannot be read")
    return schema.fields.get(part)


def _takes_more(config: Any) -> bool:
    return bool(config) and config.get("extra") == "allow"


def _makes_up(kind: type, part: str) -> bool:
    """Whether objects of a class may have attributes that are none of its fields."""
    from pydantic import BaseModel

    if hasattr(kind, part):
        # A property, a method, a constant.
        return True
    if issubclass(kind, BaseModel):
        own = vars(BaseModel).get("__getattr__")
        return (
            _takes_more(kind.model_config)
            or part in kind.__private_attributes__
            or getattr(kind, "__getattr__", own) is not own
            or kind.__getattribute__ is not object.__getattribute__
        )
    if not dataclasses.is_dataclass(kind):
        return True
    methods = {name for base in kind.__mro__[:-1] for name in vars(base)}
    return bool(methods & {"__getattr__", "__getattribute__", "__post_init__"}) or not (
        kind.__dataclass_params__.init  # type: ignore[attr-defined]
    )
