"""The few shapes that our JSON Schemas are written with; every property comes with a description, for editors."""

from __future__ import annotations

from typing import Any

__all__ = ["DIALECT", "Data", "list_of", "map_of", "names", "object_of", "one_of", "ref", "text"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Data = dict[str, Any]


def text(description: str, **more: Any) -> Data:
    """A property that holds text."""
    return {"description": description, "type": "string", **more}


def list_of(items: Data, description: str, **more: Any) -> Data:
    """A property that holds a list."""
    return {"description": description, "type": "array", "items": items, **more}


def names(description: str) -> Data:
    """A property that holds a list of names."""
    return list_of({"type": "string", "minLength": 1}, description)


def map_of(values: Data, description: str) -> Data:
    """A property that holds an object with any keys and values of one kind."""
    return {"description": description, "type": "object", "additionalProperties": values}


def ref(name: str, description: str) -> Data:
    """A property that is described by the definition `name`."""
    return {"description": description, "$ref": f"#/$defs/{name}"}


def object_of(
    title: str, description: str, properties: Data, *, required: tuple[str, ...] = (), **more: Any
) -> Data:
    """An object that has these properties and no others."""
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
        **more,
    }


def one_of(*keys: str) -> Data:
    """What makes an object have exactly one of some properties."""
    return {"oneOf": [{"required": [key]} for key in keys]}
