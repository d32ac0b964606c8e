"""Samples: a value that satisfies a JSON schema, the same one every time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentflow.errors import AgentflowError
from agentflow.mock.reply import MockCall, MockReply
from agentflow.mock.request import MockRequest

__all__ = ["NoSample", "by_schema", "sample"]

_DEEPEST = 6
"""From which depth on only what is required is made: a schema may refer to itself."""

_FORMATS: Mapping[str, str] = {
    "date": "2030-01-01",
    "time": "12:00:00Z",
    "date-time": "2030-01-01T12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}

_Schema = Mapping[str, Any]


class NoSample(AgentflowError):
    """No value for a JSON schema could be made, or none is asked for; give the rule the object itself."""

    code = "no_sample"


def by_schema(request: MockRequest) -> MockReply:
    """A reply for rules: an object that satisfies whatever schema the request asks for.

    That is the schema of the answer, or that of the arguments of the tool that has to be called: `Rule(reply=by_schema)`.

    Raises:
        NoSample: The request asks for no object, or no sample can be made.
    """
    context = request.context
    if context.output_schema is not None:
        value = sample(context.output_schema)
        return MockReply(text=json.dumps(value, ensure_ascii=False))
    forced = request.forced_tool
    if forced is None and context.tool_choice == "required" and request.tools:
        forced = request.tools[0]
    for tool in context.tools:
        if tool.name == forced:
            return MockReply(calls=(MockCall(tool.name, sample(tool.parameters)),))
    raise NoSample(
        "the request asks for no object: it has neither a schema for the answer nor a tool that must be called"
    )


def sample(schema: _Schema) -> Any:
    """A value that satisfies a JSON schema: short, complete, and the same every time.

    It takes the first of several choices, all properties, and one item of a list where that is allowed.

    Args:
        schema: The schema, draft 2020-12; references lead into itself.

    Raises:
        NoSample: None could be made; the message tells why.
    """
    from jsonschema import Draft202012Validator

    try:
        value = _Maker(schema).made(schema, "value", 0)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise NoSample(
            f"no value for the schema can be made: it cannot be read ({type(error).__name__}: {error})"
        ) from error
    for flaw in Draft202012Validator(schema).iter_errors(value):
        place = "".join(f"/{step}" for step in flaw.absolute_path) or "the value"
        raise NoSample(
            f"no value for the schema can be made: {place}: {flaw.message}; give the rule the object itself"
        )
    return value


class _Maker:
    """Makes values for the parts of one schema."""

    def __init__(self, root: _Schema) -> None:
        self._root = root

    def made(self, schema: Any, name: str, depth: int) -> Any:
        """A value for a part, which is called `name`."""
        if not isinstance(schema, Mapping):
            return name
        schema = self._resolved(schema)
        known = [schema[key] for key in ("const", "default") if key in schema]
        known += [schema[key][0] for key in ("enum", "examples") if schema.get(key)]
        if known:
            return known[0]
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self.made(self._chosen(schema, choices, depth), name, depth)
        return self._of_type(schema, name, depth)

    def _of_type(self, schema: _Schema, name: str, depth: int) -> Any:
        match _type(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return _text(schema, name)
            case "integer" | "number" as kind:
                return _number(schema, whole=kind == "integer")
            case "boolean":
                return True
            case "null":
                return None
        return name

    def _resolved(self, schema: _Schema) -> _Schema:
        """The schema with its reference followed and all its parts put together."""
        seen: set[str] = set()
        while "$ref" in schema:
            reference = schema["$ref"]
            if reference in seen:
                raise ValueError(f"{reference} refers to itself")
            seen.add(reference)
            more = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._referred(reference), **more}
        for part in schema.get("allOf", ()):
            schema = _joined(schema, self._resolved(part))
        return schema

    def _referred(self, reference: str) -> _Schema:
        if not reference.startswith("#"):
            raise ValueError(f"{reference} leads out of the schema")
        found: Any = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found[int(step)] if isinstance(found, list) else found[step]
        if not isinstance(found, Mapping):
            raise TypeError(f"{reference} leads to no schema")
        return found

    def _chosen(self, schema: _Schema, choices: Iterable[Any], depth: int) -> _Schema:
        """The first choice, null last; deep down the one that goes no further, so that recursion ends."""
        resolved = [self._resolved(choice) for choice in choices]
        flat = [choice for choice in resolved if _type(choice) not in ("object", "array")]
        solid = [choice for choice in resolved if _type(choice) != "null"]
        preferred = (flat or resolved) if depth >= _DEEPEST else (solid or resolved)
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        return _joined(rest, preferred[0])

    def _object(self, schema: _Schema, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        wanted = [name for name in properties if name in required or depth < _DEEPEST]
        made = {name: self.made(properties[name], name, depth + 1) for name in wanted}
        others = schema.get("additionalProperties", True)
        for name in required:
            if name not in made:
                made[name] = self.made(others, name, depth + 1)
        for number in range(len(made), schema.get("minProperties", 0)):
            made[f"key{number + 1}"] = self.made(others, "value", depth + 1)
        return made

    def _array(self, schema: _Schema, name: str, depth: int) -> list[Any]:
        first = [self.made(part, name, depth + 1) for part in schema.get("prefixItems", ())]
        least = 0 if depth >= _DEEPEST or schema.get("items") is False else 1
        size = min(max(schema.get("minItems", least), len(first)), schema.get("maxItems", math.inf))
        items = schema.get("items", {})
        more = [self.made(items, name, depth + 1) for _ in range(len(first), int(size))]
        return [*first, *(_different(more) if schema.get("uniqueItems") else more)][: int(size)]


def _type(schema: _Schema) -> str:
    """The type of a part, the first that is not null; guessed from what else it says when it says none."""
    given = schema.get("type")
    if isinstance(given, list):
        return str(next((each for each in given if each != "null"), "null"))
    if given is not None:
        return str(given)
    hints = (
        ("object", ("properties", "required", "additionalProperties")),
        ("array", ("items", "prefixItems", "minItems")),
        ("string", ("pattern", "format", "minLength", "maxLength")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    )
    return next((kind for kind, keys in hints if any(key in schema for key in keys)), "")


def _joined(one: _Schema, other: _Schema) -> _Schema:
    """What both say: properties and what is required are put together, of the rest the second counts."""
    joined = {**one, **other}
    if "properties" in one and "properties" in other:
        joined["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        joined["required"] = [*one["required"], *other["required"]]
    return joined


def _text(schema: _Schema, name: str) -> str:
    text = _FORMATS.get(schema.get("format", ""), name)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    fitted = text.ljust(least, ".")[:most]
    pattern = schema.get("pattern")
    if pattern is None or re.search(pattern, fitted):
        return fitted
    simple = (atom * max(least, length) for length in (1, 2, 3, 4, 5, 8) for atom in "aA0-_")
    return next((each for each in ("", *simple) if re.search(pattern, each)), fitted)


def _number(schema: _Schema, *, whole: bool) -> float:
    """1, or the number nearest to it that is allowed."""
    step = schema.get("multipleOf") or (1 if whole else None)
    small = 1 if whole else 0.5
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    low = max(low, schema.get("exclusiveMinimum", -math.inf) + small)
    high = min(high, schema.get("exclusiveMaximum", math.inf) - small)
    value: float = min(max(1, low), high)
    if step:
        value = math.ceil(value / step) * step
        value = value - step if value > high else value
    return int(value) if whole or value == int(value) else value


def _different(values: list[Any]) -> list[Any]:
    """The values, each made another: texts and numbers can be."""
    made: list[Any] = []
    for number, value in enumerate(values):
        match value:
            case str() if number:
                made.append(f"{value}{number + 1}")
            case int() | float() if number and not isinstance(value, bool):
                made.append(value + number)
            case _:
                made.append(value)
    return made
