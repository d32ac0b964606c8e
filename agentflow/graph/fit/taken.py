"""What a field takes, as far as its type tells."""

from __future__ import annotations

from typing import Any

from agentflow.graph.schema import Schema

__all__ = ["taken"]

_CONVERTING = frozenset({"coerce_numbers_to_str", "from_attributes"})


def taken(schema: Schema, name: str, hint: Any) -> Any:
    """The type that decides what a field takes: `hint`, or `Any` if its class converts values by rules of its own.

    Args:
        schema: The schema of the field.
        name: The field.
        hint: The type of its contract, or of its delta's.
    """
    source = schema.source
    config = {**getattr(source, "model_config", {}), **getattr(source, "__pydantic_config__", {})}
    decorators = getattr(source, "__pydantic_decorators__", None)
    converts = config.keys() & _CONVERTING or any(
        item.info.mode != "after" and {name, "*"} & set(item.info.fields)
        for item in getattr(decorators, "field_validators", {}).values()
    )
    return Any if converts or getattr(decorators, "validators", None) else hint
