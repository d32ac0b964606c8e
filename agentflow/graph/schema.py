"""State schemas: the fields of a workflow's state, what they may hold, and how updates are checked and joined.

A schema is a TypedDict, a pydantic model, a dataclass, or nothing. Whatever it is, it becomes a table of fields, each with its
own compiled pydantic validator: inputs, updates and results are validated field by field, and the author's classes are
never instantiated.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from agentflow.errors import ContractError
from agentflow.graph.frozen import freeze
from agentflow.graph.reducer import Reducer, append, appended
from agentflow.graph.typeddict import is_typeddict, presence, rebuilt

if typing.TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Contract", "FieldSpec", "Schema", "SchemaProblem", "schema_of"]

_PLAIN_TYPES = frozenset({int, str, float, bool, bytes, type(None)})
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """Why a state schema, or one of its fields, cannot be used."""

    message: str
    field: str | None = None


class Contract:
    """A compiled check of values against a type; `accept` validates and freezes."""

    __slots__ = ("accept", "annotation", "exact", "validate")

    def __init__(self, annotation: Any, *, validate: Callable[[Any], Any] | None = None) -> None:
        self.annotation = annotation
        self.validate = _validator(annotation) if validate is None else validate
        # A value of exactly this type is valid and immutable as it is: the hot loop asks nothing else.
        self.exact: type | None = annotation if annotation in _PLAIN_TYPES else None
        self.accept: Callable[[Any], Any] = self._accept

    def _accept(self, value: Any) -> Any:
        return freeze(self.validate(value))


class AnyContract(Contract):
    """The contract of an untyped field: every value that can be frozen."""

    __slots__ = ()

    def __init__(self) -> None:
        self.annotation = Any
        self.validate = lambda value: value
        self.exact = None
        self.accept = freeze


ANY = AnyContract()


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a state.

    Args:
        name: The field.
        annotation: Its type, without qualifiers, reducers kept apart.
        required: Whether the schema says it is always there.
        default: A function that makes its default anew, or `None`.
        reducer: How updates are joined with the value, or `None` when they replace it.
        value: The contract of its whole value (inputs, mappings).
        delta: The contract of what a node returns for it; the same as `value` unless a reducer says otherwise.
    """

    name: str
    annotation: Any
    required: bool = False
    default: Callable[[], Any] | None = None
    reducer: Reducer | None = None
    value: Contract = ANY
    delta: Contract = ANY

    def joined(self, current: Any, delta: Any) -> Any:
        """The field's new value after an update: frozen, from frozen parts."""
        if self.reducer is append:
            return appended(current, delta)
        assert self.reducer is not None
        return self.value.accept(self.reducer.apply(current, delta))


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

    def field(self, name: str) -> FieldSpec:
        """The field `name`; in an untyped state every name is a field."""
        return self.fields[name] if self.typed else FieldSpec(name, Any)


def schema_of(source: Any) -> Schema:
    """The schema of a TypedDict, a pydantic model class, a dataclass or `None`; problems are listed, not raised."""
    if source is None:
        return Schema()
    try:
        if is_typeddict(source):
            return _collected(source, _typeddict_fields(source), attributes=False)
        if _is_model(source):
            return _collected(source, _model_fields(source), attributes=True)
        if isinstance(source, type) and dataclasses.is_dataclass(source):
            return _collected(source, _dataclass_fields(source), attributes=True)
    except Exception as error:
        # Resolving hints runs code of the author's module: whatever it raises is a finding about the schema.
        return Schema(source, problems=(SchemaProblem(f"its hints cannot be read: {error}"),))
    problem = SchemaProblem(f"{source!r} is no TypedDict, pydantic model class or dataclass")
    return Schema(source, problems=(problem,))


@dataclass(frozen=True, slots=True)
class _Declared:
    """A field as its class declares it, before anything is compiled."""

    name: str
    hint: Any
    required: bool
    default: Callable[[], Any] | None = None
    validate: Callable[[], Callable[[Any], Any]] | None = None


def _collected(source: Any, declared: list[_Declared], *, attributes: bool) -> Schema:
    fields: dict[str, FieldSpec] = {}
    problems: list[SchemaProblem] = []
    for item in declared:
        try:
            fields[item.name] = _field(item)
        except Exception as error:
            # pydantic raises many kinds for a hint that it cannot turn into a validator.
            fields[item.name] = FieldSpec(item.name, item.hint, item.required, item.default)
            reason = str(error).strip().partition("\n")[0]
            problems.append(
                SchemaProblem(f"no validator can be made for {item.hint!r}: {reason}", item.name)
            )
    return Schema(source, fields, attributes, tuple(problems))


def _field(item: _Declared) -> FieldSpec:
    hint, reducer = _without_reducer(item.hint)
    value = Contract(hint, validate=None if item.validate is None else item.validate())
    delta = value
    if reducer is not None and reducer.delta is not None:
        delta = Contract(reducer.delta)
    return FieldSpec(item.name, hint, item.required, item.default, reducer, value, delta)


def _without_reducer(hint: Any) -> tuple[Any, Reducer | None]:
    if get_origin(hint) is not Annotated:
        return hint, None
    base, *extras = get_args(hint)
    reducer = next((extra for extra in extras if isinstance(extra, Reducer)), None)
    kept = tuple(extra for extra in extras if not isinstance(extra, Reducer))
    return (Annotated[(base, *kept)] if kept else base), reducer


def _typeddict_fields(source: Any) -> list[_Declared]:
    return [_Declared(name, hint, required) for name, hint, required in presence(source)]


def _dataclass_fields(source: type) -> list[_Declared]:
    hints = typing.get_type_hints(source, include_extras=True)
    found = []
    for item in dataclasses.fields(source):
        default: Callable[[], Any] | None = None
        if item.default_factory is not dataclasses.MISSING:
            default = item.default_factory
        elif item.default is not dataclasses.MISSING:
            default = functools.partial(_itself, item.default)
        required = default is None and item.init
        found.append(_Declared(item.name, hints[item.name], required, default))
    return found


def _model_fields(source: type[BaseModel]) -> list[_Declared]:
    hints = typing.get_type_hints(source, include_extras=True)
    found = []
    for name, info in source.model_fields.items():
        required = info.is_required()
        default = (
            None if required else functools.partial(info.get_default, call_default_factory=True)
        )
        validate = functools.partial(_model_field_validator, source, name)
        found.append(_Declared(name, hints[name], required, default, validate))
    return found


def _model_field_validator(source: type[BaseModel], name: str) -> Callable[[Any], Any]:
    """The model's own validator of one field, so that its constraints and field validators hold.

    Taken out of the model's core schema: validating an assignment would need an instance, run the validators of the whole
    model on half of it, and fail on a frozen one.
    """
    from pydantic_core import SchemaValidator

    core: Any = source.__pydantic_core_schema__
    definitions: list[Any] = []
    while core["type"] != "model-fields":
        definitions = core.get("definitions", definitions)
        core = core["schema"]
    field = core["fields"][name]["schema"]
    if definitions:
        field = {"type": "definitions", "schema": field, "definitions": definitions}
    return SchemaValidator(field).validate_python


def _is_model(source: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(source, type) and issubclass(source, BaseModel)


def _itself(value: Any) -> Any:
    return value


def _validator(annotation: Any) -> Callable[[Any], Any]:
    """A function that validates one value, by pydantic, in its usual lax mode."""
    from pydantic import ConfigDict, TypeAdapter

    hint = rebuilt(annotation)
    try:
        adapter = TypeAdapter[Any](hint)
    except Exception as error:
        if "arbitrary_types_allowed" not in str(error):
            raise
        # A class that pydantic does not know is checked with isinstance.
        adapter = TypeAdapter[Any](hint, config=ConfigDict(arbitrary_types_allowed=True))
    return adapter.validator.validate_python


def contract_error(where: str, value: Any, error: Exception) -> ContractError:
    """The error for a value that a contract refused, saying where, what came and why."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        parts = [
            f"{'.'.join(map(str, item['loc'])) + ': ' if item['loc'] else ''}{item['msg']}"
            for item in error.errors(include_url=False, include_context=False)
        ]
        reason = "; ".join(parts)
    else:
        reason = f"{type(error).__name__}: {error}"
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ContractError(f"{where}: {reason} (got {shown})")
