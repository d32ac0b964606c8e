"""JSON schemas as contracts: of the arguments and of the value of a tool whose types are known to somebody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.contract import Contract
from agentflow.graph.frozen import freeze, thaw
from agentflow.tools.context import ToolContext
from agentflow.tools.output import ToolOutput

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = ["JsonInput", "JsonMismatch", "json_output", "references"]


class JsonMismatch(ValueError):
    """A value does not satisfy a JSON schema."""


class JsonInput:
    """What arguments must be, by a JSON schema. The handler is called with two things: the arguments as a dict, and its context.

    Args:
        schema: The schema, of an object; 2020-12 unless its `$schema` says another version.

    Raises:
        ValueError: It is no valid schema, or none of an object, or refers to something outside of itself.
    """

    __slots__ = ("_validator", "schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = _validator(schema)
        if schema.get("type") != "object":
            raise ValueError(f"it is a schema of {schema.get('type')!r}, not of an object")
        self.schema: Mapping[str, Any] = freeze(dict(schema))

    def accept(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they are, when they satisfy the schema.

        Raises:
            JsonMismatch: They do not.
        """
        given: dict[str, Any] = thaw(dict(arguments))
        _check(self._validator, given)
        return given

    def bind(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """The two things that the handler is called with."""
        return [dict(arguments), context], {}


def json_output(schema: Mapping[str, Any]) -> Contract:
    """The contract of a tool's value by a JSON schema; of a `ToolOutput` it judges the data.

    Raises:
        ValueError: It is no valid schema, or refers to something outside of itself.
    """
    validator = _validator(schema)

    def validate(value: Any) -> Any:
        _check(validator, value.data if isinstance(value, ToolOutput) else value)
        return value

    return Contract(Any, validate=validate)


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    plain = thaw(dict(schema))
    kind = validator_for(plain, default=Draft202012Validator)
    try:
        kind.check_schema(plain)
    except SchemaError as error:
        raise ValueError(f"it is no valid JSON schema: {error.message}") from error
    for address in references(plain):
        if not address.startswith("#"):
            # Whoever writes the schema must not choose what this machine fetches.
            raise ValueError(f"it refers to {address!r}, which lies outside of it")
    # An empty registry: the default one would fetch what it does not know.
    made: Validator = kind(plain, registry=Registry())
    return made


def references(schema: Any) -> Iterator[str]:
    """Everything that a JSON schema refers to."""
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


def _check(validator: Validator, value: Any) -> None:
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(validator.iter_errors(value))
    except Unresolvable as missing:
        raise JsonMismatch(f"the schema refers to {missing.ref!r}, which is not in it") from None
    if error is not None:
        where = "".join(f"{step}: " for step in error.absolute_path)
        raise JsonMismatch(f"{where}{error.message}")
