"""Facts as JSON data, and the JSON Schema of it: what `schemas/fact.schema.json` holds."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from agentflow.graph.json_schema import DIALECT
from agentflow.run.facts import FACT_KINDS, Fact

__all__ = ["fact_json", "fact_schema"]


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact as JSON data; whatever in it JSON does not have is written as text."""
    found = {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
    return {
        **found,
        "time": fact.time.isoformat(),
        "data": {str(name): _plain(value) for name, value in fact.data.items()},
        "content": _plain(fact.content),
    }


def _plain(value: Any) -> Any:
    from pydantic_core import from_json, to_json

    try:
        text = to_json(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings")
        return from_json(text)
    except (ValueError, RecursionError):
        # It holds itself, or is no Unicode: a fact must be told all the same.
        return ascii(value)


def fact_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one fact; the set of kinds is closed."""
    from pydantic import TypeAdapter

    generated = TypeAdapter(Fact).json_schema(mode="serialization")
    told = _told_of_fields()
    properties = {
        name: {**told.get(name, {}), **_bare(part)}
        for name, part in generated["properties"].items()
    }
    properties["kind"]["enum"] = list(FACT_KINDS)
    return {
        "$schema": DIALECT,
        "title": "fact",
        "description": "One thing that happened in a run.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _bare(part: dict[str, Any]) -> dict[str, Any]:
    """What pydantic says of a field, without a title made of its name, and without the default: it is always there."""
    return {key: value for key, value in part.items() if key not in ("title", "default")}


def _told_of_fields() -> dict[str, dict[str, str]]:
    """What the docstring of `Fact` says of its fields, so that it is said once."""
    text = (inspect.getdoc(Fact) or "").partition("Args:\n")[2]
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8,}.+)*)", text, re.MULTILINE)
    return {name: {"description": " ".join(words.split())} for name, words in found}
