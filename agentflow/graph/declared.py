"""What a class says of its fields: a TypedDict, a pydantic model or a dataclass, read but not yet compiled.

The author's class is never instantiated: a state is there field by field, and most of the time not whole.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.graph.contract import Contract
from agentflow.graph.excerpt import excerpt
from agentflow.graph.typeddict import is_typeddict, presence

__all__ = ["Declared", "Unreadable", "declared_fields", "has_attributes", "unrun_methods"]

_PLAIN_SCHEMAS: Mapping[str, type] = {"int": int, "str": str, "float": float, "bool": bool}
# Factories that give an equal value each time; one of the author's may read a clock.
_PURE = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)
# Settings of a model's config that change nothing for a value which has the right type already.
_HARMLESS = frozenset({"title", "extra_fields_behavior", "strict"})


@dataclass(frozen=True, slots=True)
class Declared:
    """A field as its class declares it.

    Args:
        name: The field.
        hint: Its type, reducers and constraints included, without presence qualifiers.
        required: Whether it must be given.
        default: A function that makes its default anew, or `None`.
        constant: Whether the default is the same value each time, so that it can be checked before any run.
        contract: Makes the contract for the hint without its reducer.
    """

    name: str
    hint: Any
    required: bool
    default: Callable[[], Any] | None = None
    constant: bool = False
    contract: Callable[[Any], Contract] = Contract


class Unreadable(Exception):
    """The class cannot be a state schema."""


def declared_fields(source: Any) -> list[Declared]:
    """The fields of a class that can be a state schema.

    Raises:
        Unreadable: It is no TypedDict, pydantic model class or dataclass, or one that cannot be a state.
        Exception: The hints cannot be resolved; whatever the author's module raises.
    """
    if is_typeddict(source):
        return _typeddict_fields(source)
    if isinstance(source, type):
        if getattr(source, "__pydantic_root_model__", False):
            raise Unreadable(f"{source.__name__} is a RootModel, which has no fields")
        if hasattr(source, "__pydantic_fields__"):
            return _pydantic_fields(source)
        if dataclasses.is_dataclass(source):
            return _dataclass_fields(source)
    raise Unreadable(f"{excerpt(source)} is no TypedDict, pydantic model class or dataclass")


def unrun_methods(source: Any) -> tuple[str, ...]:
    """The methods of a schema that would look at a whole instance, and so are never run."""
    decorators = getattr(source, "__pydantic_decorators__", None)
    found = list(getattr(decorators, "model_validators", ()))
    for name in ("__post_init__", "model_post_init"):
        method = getattr(source, name, None)
        # pydantic puts methods of its own there.
        if method is not None and not method.__module__.startswith("pydantic"):
            found.append(name)
    return tuple(found)


def has_attributes(source: Any) -> bool:
    """Whether the instances of the class would have their fields as attributes."""
    return not is_typeddict(source)


def _typeddict_fields(source: Any) -> list[Declared]:
    contract = _configured(source)
    return [
        Declared(name, hint, required, contract=contract)
        for name, hint, required in presence(source)
    ]


def _dataclass_fields(source: Any) -> list[Declared]:
    hints = typing.get_type_hints(source, include_extras=True)
    contract = _configured(source)
    found = []
    for item in dataclasses.fields(source):
        default: Callable[[], Any] | None = None
        constant = item.default is not dataclasses.MISSING or item.default_factory in _PURE
        if item.default_factory is not dataclasses.MISSING:
            default = item.default_factory
        elif item.default is not dataclasses.MISSING:
            default = functools.partial(_itself, item.default)
        required = default is None and item.init
        found.append(Declared(item.name, hints[item.name], required, default, constant, contract))
    return found


def _configured(source: Any) -> Callable[[Any], Contract]:
    config = getattr(source, "__pydantic_config__", None)
    return functools.partial(Contract, config=config) if config else Contract


def _pydantic_fields(source: Any) -> list[Declared]:
    found = list(_each_pydantic_field(source, _Core(source)))
    if dataclasses.is_dataclass(source):
        # pydantic leaves out what a dataclass cannot be given and has no default.
        known = {item.name for item in found}
        found += [item for item in _dataclass_fields(source) if item.name not in known]
    return found


def _each_pydantic_field(source: Any, core: _Core) -> Iterator[Declared]:
    for name, info in source.__pydantic_fields__.items():
        default: Callable[[], Any] | None = None
        if info.default_factory_takes_validated_data:
            raise Unreadable(
                f"the default factory of {name!r} takes the other fields, which may not be there yet"
            )
        if not info.is_required():
            default = functools.partial(info.get_default, call_default_factory=True)
        yield Declared(
            name,
            info.rebuild_annotation(),
            required=default is None and info.init is not False,
            default=default,
            constant=default is not None
            and (info.default_factory is None or info.default_factory in _PURE),
            contract=functools.partial(core.contract, name),
        )


class _Core:
    """The core schema of a pydantic class, taken apart into those of its fields.

    A field is checked by its own part of it, so that its constraints and field validators hold. Validating an assignment
    would need an instance, run the validators of the whole class on half of it, and fail on a frozen one.
    """

    def __init__(self, source: Any) -> None:
        self.definitions: list[Any] = []
        self.config: Mapping[str, Any] = {}
        core: Any = source.__pydantic_core_schema__
        while core["type"] not in ("model-fields", "dataclass-args"):
            if core["type"] == "definition-ref":
                wanted = core["schema_ref"]
                core = next(item for item in self.definitions if item["ref"] == wanted)
                continue
            self.definitions = core.get("definitions", self.definitions)
            self.config = core.get("config", self.config)
            core = core["schema"]
        fields: Any = core["fields"]
        named = fields.items() if isinstance(fields, dict) else ((f["name"], f) for f in fields)
        self.fields: dict[str, Any] = {name: field["schema"] for name, field in named}

    def contract(self, name: str, annotation: Any) -> Contract:
        """The class's own check of one field."""
        from pydantic_core import SchemaValidator

        schema = self.fields[name]
        if self.definitions:
            schema = {"type": "definitions", "schema": schema, "definitions": self.definitions}
        validator = SchemaValidator(schema, config=self.config)  # type: ignore[arg-type]
        return Contract(
            annotation,
            validate=validator.validate_python,
            exact=self._exact(self.fields[name]),
            schema=schema,
        )

    def _exact(self, schema: Any) -> type | None:
        """The type that says everything about a field, if there is one."""
        if schema["type"] == "default":
            schema = schema["schema"]
        nothing_else = schema.keys() <= {"type"} and self.config.keys() <= _HARMLESS
        return _PLAIN_SCHEMAS.get(schema["type"]) if nothing_else else None


def _itself(value: Any) -> Any:
    return value
