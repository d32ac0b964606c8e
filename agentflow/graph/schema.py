"""State schemas: the fields of a workflow's state, what they may hold, and how updates are checked and joined.

A schema is a TypedDict, a pydantic model, a dataclass, or nothing. Whatever it is, it becomes a table of fields, each with its
own compiled pydantic validator: inputs, updates and results are validated field by field, and the author's classes are
never instantiated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from agentflow.graph.contract import ANY, Contract, contract_error, reason_of
from agentflow.graph.declared import Declared, declared_fields, has_attributes
from agentflow.graph.excerpt import excerpt
from agentflow.graph.frozen import lend
from agentflow.graph.private import Private
from agentflow.graph.reducer import Reducer, append, appended, several

__all__ = ["FieldSpec", "Schema", "SchemaProblem", "schema_of"]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """Why a state schema, or one of its fields, cannot be used."""

    message: str
    field: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a state.

    Args:
        name: The field.
        annotation: Its type, without qualifiers; reducers and the mark `private` kept apart.
        required: Whether the schema says it is always there.
        default: A function that makes its default anew, or `None`.
        constant: Whether the default is equal each time.
        reducer: How updates are joined with the value, or `None` when they replace it.
        private: Whether it is never recorded.
        value: The contract of its whole value (inputs, mappings).
        delta: The contract of what a node returns for it; the same as `value` unless a reducer says otherwise.
    """

    name: str
    annotation: Any
    required: bool = False
    default: Callable[[], Any] | None = None
    constant: bool = False
    reducer: Reducer | None = None
    private: bool = False
    value: Contract = ANY
    delta: Contract = ANY

    def gathering(self) -> FieldSpec:
        """The field as a node with branches writes it: each of them may have a delta, so it takes the list of deltas.

        Those of `append` are lists already, and one list of all items is the same.
        """
        if self.reducer is None or self.reducer is append:
            return self
        return dataclasses.replace(self, reducer=several(self.reducer), delta=self.delta.each())

    def joined(self, current: Any, delta: Any) -> Any:
        """The field's new value after an update: frozen, from frozen parts."""
        if self.reducer is append:
            return appended(current, delta)
        assert self.reducer is not None
        return self.value.accept(self.reducer.apply(lend(current), delta))


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The fields of a state; `source` is what the author gave, `None` for an untyped state."""

    source: Any = None
    fields: Mapping[str, FieldSpec] = dataclasses.field(default_factory=dict)
    attributes: bool = False
    problems: tuple[SchemaProblem, ...] = ()

    @property
    def typed(self) -> bool:
        """Whether the author declared fields."""
        return self.source is not None

    def required(self) -> tuple[str, ...]:
        """The fields that must be given, because they have no default and are not optional."""
        return tuple(spec.name for spec in self.fields.values() if spec.required)

    def with_default(self) -> tuple[FieldSpec, ...]:
        """The fields that are there from the start."""
        return tuple(spec for spec in self.fields.values() if spec.default is not None)

    def private(self) -> frozenset[str]:
        """The fields that are never recorded."""
        return frozenset(spec.name for spec in self.fields.values() if spec.private)

    def field(self, name: str) -> FieldSpec:
        """The field `name`; in an untyped state every name is a field."""
        return self.fields[name] if self.typed else FieldSpec(name, Any)


def schema_of(source: Any) -> Schema:
    """The schema of a TypedDict, a pydantic model class, a dataclass or `None`; problems are listed, not raised."""
    if source is None:
        return Schema()
    try:
        declared = declared_fields(source)
    except Exception as error:
        # Resolving hints runs code of the author's module: whatever it raises is a finding about the schema.
        return Schema(source, problems=(SchemaProblem(_unreadable(error)),))
    fields: dict[str, FieldSpec] = {}
    problems: list[SchemaProblem] = []
    for item in declared:
        fields[item.name], problem = _field(item)
        if problem:
            problems.append(SchemaProblem(problem, item.name))
    return Schema(source, fields, has_attributes(source), tuple(problems))


def _unreadable(error: Exception) -> str:
    return f"its fields cannot be read: {reason_of(error)}"


def _field(item: Declared) -> tuple[FieldSpec, str]:
    """A field, and why it cannot be used; empty when it can."""
    hint, reducer, private = _without_marks(item.hint)
    spec = FieldSpec(item.name, hint, item.required, item.default, item.constant, reducer, private)
    try:
        value = item.contract(hint)
        delta = Contract(reducer.delta) if reducer and reducer.delta is not None else value
    except Exception as error:
        # pydantic raises many kinds for a hint that it cannot turn into a validator.
        return spec, f"no validator can be made for {excerpt(hint)}: {reason_of(error)}"
    spec = dataclasses.replace(spec, value=value, delta=delta)
    if item.constant and item.default is not None:
        default = item.default()
        try:
            value.accept(default)
        except Exception as error:
            return spec, str(contract_error("its default is invalid", default, error))
    return spec, ""


def _without_marks(hint: Any) -> tuple[Any, Reducer | None, bool]:
    """The type itself, its reducer, and whether it is marked `private`."""
    if get_origin(hint) is not Annotated:
        return hint, None, False
    base, *extras = get_args(hint)
    reducer = next((extra for extra in extras if isinstance(extra, Reducer)), None)
    private = any(isinstance(extra, Private) for extra in extras)
    kept = tuple(extra for extra in extras if not isinstance(extra, Reducer | Private))
    return (Annotated[(base, *kept)] if kept else base), reducer, private
