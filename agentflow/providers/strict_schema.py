"""JSON schemas as vendors hold their models to them: a part of JSON Schema, in which every object lists what it has.

What such a schema cannot say of a value, the type that was asked for says when the answer is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["is_closed", "is_recursive", "strict_schema"]

_KEPT: Final = frozenset(
    {
        "type",
        "enum",
        "const",
        "description",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_FOREIGN: Final = frozenset(
    {
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "patternProperties",
        "propertyNames",
        "prefixItems",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
    }
)
_TELLING: Final = frozenset({"type", "enum", "const", "anyOf", "oneOf", "$ref"})


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in OpenAI's strict form; `None` if it cannot be said in it.

    From its guide "Structured Outputs", section "Supported schemas": all properties are required, no others are allowed.
    """
    return _strict(schema) if is_closed(schema) else None


def is_closed(schema: Any) -> bool:
    """Whether every object in it lists its properties, and every place in it tells what may stand there."""
    if not isinstance(schema, Mapping) or _FOREIGN & schema.keys() or not _TELLING & schema.keys():
        return False
    types = schema.get("type")
    of_object = types == "object" or (isinstance(types, list) and "object" in types)
    if of_object and (
        "properties" not in schema or schema.get("additionalProperties") not in (None, False)
    ):
        return False
    if types == "array" and "items" not in schema:
        return False
    return all(is_closed(inner) for inner in _inner(schema))


def is_recursive(schema: Mapping[str, Any]) -> bool:
    """Whether a definition in it leads back to itself."""
    definitions = schema.get("$defs", {})
    leads = {f"#/$defs/{name}": _references(definition) for name, definition in definitions.items()}

    def leads_back(start: str) -> bool:
        seen: set[str] = set()
        waiting = set(leads.get(start, ()))
        while waiting:
            reference = waiting.pop()
            if reference == start:
                return True
            if reference not in seen:
                seen.add(reference)
                waiting |= leads.get(reference, set())
        return False

    return any(map(leads_back, leads))


def _references(schema: Any) -> set[str]:
    if isinstance(schema, Mapping):
        own = {schema["$ref"]} if isinstance(schema.get("$ref"), str) else set()
        return own.union(*map(_references, schema.values()))
    if isinstance(schema, list | tuple):
        return set().union(*map(_references, schema))
    return set()


def _inner(schema: Mapping[str, Any]) -> list[Any]:
    found = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    found += [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [*found, schema["items"]] if "items" in schema else found


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        # A reference stands alone; at the root, with the definitions.
        made: dict[str, Any] = {"$ref": schema["$ref"]}
    else:
        made = {name: value for name, value in schema.items() if name in _KEPT}
        if made.get("format") not in _FORMATS:
            made.pop("format", None)
        if "properties" in schema:
            properties = schema["properties"]
            made["properties"] = {name: _strict(value) for name, value in properties.items()}
            made["required"] = list(properties)
            made["additionalProperties"] = False
        if "items" in schema:
            made["items"] = _strict(schema["items"])
        either = schema.get("anyOf") or schema.get("oneOf")
        if either:
            made["anyOf"] = [_strict(one) for one in either]
    if "$defs" in schema:
        made["$defs"] = {name: _strict(value) for name, value in schema["$defs"].items()}
    return made
