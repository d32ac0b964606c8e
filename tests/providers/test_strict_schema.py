"""Strict schemas: what can be said strictly is, what cannot is left alone, and nothing becomes valid that was not."""

from __future__ import annotations

import datetime
import enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from agentflow.providers.strict_schema import is_closed, is_recursive, strict_schema


class Colour(enum.Enum):
    RED = "red"


class Inner(BaseModel):
    """Something."""

    x: int = Field(description="a number", ge=1, le=9)


class Flat(TypedDict):
    name: str


class Rich(BaseModel):
    inner: Inner = Field(default=Inner(x=1), description="told beside a reference")
    colour: Colour | None = None
    kind: Literal["a", "b"] = "a"
    when: datetime.datetime
    short: Annotated[str, Field(max_length=3, pattern="^a")]
    items: list[Inner]
    pair: Flat


class Tree(BaseModel):
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Pet(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


def schema_of(type: Any) -> Any:
    return TypeAdapter(type).json_schema()


def objects_in(schema: Any) -> list[Any]:
    found = []
    if isinstance(schema, dict):
        if "properties" in schema and isinstance(schema["properties"], dict):
            found.append(schema)
        for value in schema.values():
            found += objects_in(value)
    if isinstance(schema, list):
        for value in schema:
            found += objects_in(value)
    return found


@pytest.mark.parametrize("type", [Rich, Tree, Pet, Inner, list[Inner], int | None, Colour])
def test_every_object_of_a_strict_schema_requires_all_and_allows_no_more(type: Any) -> None:
    strict = strict_schema(schema_of(type))
    assert strict is not None
    for found in objects_in(strict):
        assert found["required"] == list(found["properties"])
        assert found["additionalProperties"] is False
    text = repr(strict)
    assert not [word for word in ("'title'", "'default'", "'oneOf'", "maxLength") if word in text]


def test_a_reference_stands_alone() -> None:
    strict = strict_schema(schema_of(Rich))
    assert strict is not None
    assert strict["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert strict["$defs"]["Inner"]["properties"]["x"] == {
        "type": "integer",
        "description": "a number",
        "minimum": 1,
        "maximum": 9,
    }
    assert strict["properties"]["when"] == {"type": "string", "format": "date-time"}


@pytest.mark.parametrize(
    "type",
    [dict, dict[str, int], Any, list, list[dict[str, int]], tuple[int, str], int | dict[str, int]],
)
def test_what_has_open_places_cannot_be_said_strictly(type: Any) -> None:
    assert strict_schema(schema_of(type)) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": True}},
        {"allOf": [{"type": "string"}], "type": "string"},
        {"type": "string", "not": {"const": "a"}},
        {"type": ["object", "null"]},
        {"type": "array"},
        {"type": "array", "prefixItems": []},
    ],
)
def test_schemas_that_are_not_closed_are_found(schema: Any) -> None:
    assert not is_closed(schema)


def test_a_definition_that_leads_back_to_itself_is_found() -> None:
    assert is_recursive(schema_of(Tree))
    assert not is_recursive(schema_of(Rich))
    indirect = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {"type": "array", "items": {"$ref": "#/$defs/B"}},
            "B": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]},
        },
    }
    assert is_recursive(indirect)


values = st.fixed_dictionaries(
    {
        "inner": st.fixed_dictionaries({"x": st.integers(-2, 12)}),
        "colour": st.sampled_from(["red", None, "blue"]),
        "kind": st.sampled_from(["a", "b", "c"]),
        "when": st.just("2030-01-01T00:00:00Z"),
        "short": st.sampled_from(["a", "abc", "b"]),
        "items": st.lists(st.fixed_dictionaries({"x": st.integers(1, 9)}), max_size=2),
        "pair": st.fixed_dictionaries({"name": st.text(max_size=3)}),
    }
)


@given(values)
def test_what_satisfies_the_type_satisfies_the_strict_schema(value: Any) -> None:
    strict = strict_schema(schema_of(Rich))
    assert strict is not None
    own = jsonschema.Draft202012Validator(schema_of(Rich)).is_valid(value)
    assert not own or jsonschema.Draft202012Validator(strict).is_valid(value)
