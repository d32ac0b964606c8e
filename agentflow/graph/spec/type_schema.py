"""The part of the workflow's JSON Schema that is about types: names, states and their fields, and types as data."""

from __future__ import annotations

from agentflow.graph.json_schema import Data, list_of, map_of, names, object_of, ref, text
from agentflow.graph.spec.hints import JSON_TYPES, REDUCERS, SIMPLE_TYPES
from agentflow.graph.spec.names import NAME

__all__ = ["type_definitions"]


def type_definitions() -> Data:
    """The definitions `name`, `type`, `field`, `fields` and `stateClass`, and what they need."""
    return {
        "fields": _fields(),
        "stateClass": _state_class(),
        "field": {"title": "a field", "anyOf": _Ways(_FIELD_OPTIONS).all()},
        "type": {"title": "a type", "anyOf": _Ways({}).all()},
        "typeName": {
            "title": f"a simple type ({', '.join(SIMPLE_TYPES)})",
            "description": "A type by its Python name; `None` is the type of null.",
            "enum": list(SIMPLE_TYPES),
        },
        "name": {
            "title": "a name to import (module:attribute)",
            "description": "What is found under `attribute` in `module`; dots lead further down.",
            "type": "string",
            "pattern": NAME,
        },
    }


def _state_class() -> Data:
    properties = {
        "import": ref("name", "The TypedDict, pydantic model or dataclass."),
        "defaults": names(
            "Its fields that have a default. Nobody needs this who imports the class; a check without imports cannot see it."
        ),
    }
    return object_of(
        "a class to import", "A state that is declared in Python.", properties, required=("import",)
    )


def _fields() -> Data:
    return object_of(
        "a state with fields",
        "A state that is declared here, not in Python.",
        {"fields": map_of({"$ref": "#/$defs/field"}, "The fields by name, each with its type.")},
        required=("fields",),
    )


_FIELD_OPTIONS: Data = {
    "optional": {
        "description": "Whether the field may be missing when a run starts, as one must that a node provides.",
        "type": "boolean",
        "default": False,
    },
    "reducer": {
        "description": "How an update is joined with the value; without it the value is replaced.",
        "anyOf": [
            {"title": "a reducer of agentflow", "enum": list(REDUCERS)},
            {"$ref": "#/$defs/name"},
        ],
    },
    "private": {
        "description": "Whether the field is never recorded: a run that goes on in another process has it only if it is "
        "supplied again.",
        "type": "boolean",
        "default": False,
    },
}


class _Ways:
    """The ways to write a type; `options` are further properties that each of them may have."""

    def __init__(self, options: Data) -> None:
        self._options = options

    def all(self) -> list[Data]:
        return [
            {"$ref": "#/$defs/typeName"},
            {"$ref": "#/$defs/name"},
            self._way(
                "an imported type",
                "A type by name.",
                {"import": ref("name", "The type.")},
                "import",
            ),
            self._json_type(),
            *self._choices(),
            self._array(),
            *self._objects(),
            self._way("any value", "Every value will do.", {}),
        ]

    def _way(self, title: str, description: str, properties: Data, *required: str) -> Data:
        about = {"description": text("What the value means.")}
        return object_of(
            title, description, {**properties, **about, **self._options}, required=required
        )

    def _json_type(self) -> Data:
        one = {"enum": list(JSON_TYPES)}
        several = {"title": "a list of types", "type": "array", "items": one, "minItems": 1}
        kind = {
            "description": "The type, or a list of types.",
            "anyOf": [{"title": "one type", **one}, several],
        }
        return self._way(
            "a JSON type",
            "Text, a number, a boolean or null; or one of several.",
            {"type": kind},
            "type",
        )

    def _choices(self) -> list[Data]:
        value = {"type": ["string", "integer", "boolean", "null"]}
        values = {
            "enum": list_of(value, "The values.", minItems=1),
            "type": {"description": "Their type; it adds nothing.", "enum": list(JSON_TYPES)},
        }
        types = {"anyOf": list_of(_TYPE, "The types.", minItems=1)}
        return [
            self._way("a choice of values", "One of a few values.", values, "enum"),
            self._way("a choice of types", "One of several types.", types, "anyOf"),
        ]

    def _array(self) -> Data:
        properties = {
            "type": {"description": "It is an array.", "const": "array"},
            "items": {"description": "The type of its items.", **_TYPE},
        }
        return self._way("an array", "A list.", properties, "type")

    def _objects(self) -> list[Data]:
        kind = {"type": {"description": "It is an object.", "const": "object"}}
        mapping = {
            **kind,
            "additionalProperties": {"description": "The type of its values.", **_TYPE},
        }
        known = {
            **kind,
            "properties": map_of(_TYPE, "The keys, each with the type of its value."),
            "required": names("The keys that must be there."),
            "additionalProperties": {
                "description": "Whether there may be other keys.",
                "type": "boolean",
                "default": True,
            },
        }
        return [
            self._way("a mapping", "Text keys with values of one type.", mapping, "type"),
            self._way("an object", "A mapping whose keys are known.", known, "type", "properties"),
        ]


_TYPE: Data = {"$ref": "#/$defs/type"}
