"""A sample satisfies its schema, is the same every time, and is told when there is none."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter, conlist

from agentflow import CancelSignal, ModelContext, structured
from agentflow.messages import ToolSpec, user
from agentflow.mock import MockModel, MockRequest, MockServer, NoSample, Rule, by_schema, sample
from agentflow.testing import fake_context
from tests.mock.wire import post


class Colour(Enum):
    red = "red"
    blue = "blue"


class Tree(BaseModel):
    name: str
    children: list[Tree]
    parent: Tree | None = None


class Order(BaseModel):
    id: Annotated[int, Field(gt=100)]
    colour: Colour
    due: date
    price: Decimal
    kind: Literal["big", "small"]
    names: Annotated[list[str], Field(min_length=2)]
    pair: tuple[int, str]
    code: Annotated[str, Field(pattern=r"^\d{3}$")]
    note: str | None
    extra: dict[str, int]
    tree: Tree
    size: Annotated[float, Field(multiple_of=0.25, lt=1)]


def test_a_model_of_pydantic_can_be_read_from_its_sample() -> None:
    value = sample(Order.model_json_schema())
    order = Order.model_validate(value)
    assert (order.id, order.colour, order.kind, order.code) == (101, Colour.red, "big", "000")
    assert order.names == ["names", "names"]
    assert order.note == "note"
    assert sample(Order.model_json_schema()) == value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "value"),
        ({"type": "string", "minLength": 8}, "value..."),
        ({"type": "string", "maxLength": 2}, "va"),
        ({"format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "null"}, None),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMaximum": 1, "multipleOf": 5}, 0),
        ({"type": "number", "exclusiveMinimum": 1}, 1.5),
        ({"type": "array", "items": {"type": "boolean"}}, [True]),
        ({"type": "array", "maxItems": 0}, []),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True},
            [1, 2],
        ),
        ({"prefixItems": [{"const": 1}, {"const": 2}], "items": False}, [1, 2]),
        ({"required": ["a"]}, {"a": "a"}),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"const": 1}}, {"key1": 1}),
        ({"enum": ["x", "y"]}, "x"),
        ({"default": 7}, 7),
        ({"examples": ["e"]}, "e"),
        ({"oneOf": [{"type": "null"}, {"const": 3}]}, 3),
        (
            {
                "allOf": [
                    {"properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"const": 2}}, "required": ["b"]},
                ]
            },
            {"a": 1, "b": 2},
        ),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 4}}}, 4),
        ({"$ref": "#/anyOf/0", "anyOf": [{"const": 5}]}, 5),
    ],
)
def test_a_sample_is_the_simplest_thing(schema: dict[str, Any], value: Any) -> None:
    assert sample(schema) == value


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (False, "does not allow"),
        ({"type": "string", "pattern": "^fish [0-9]+ of sea$"}, "does not match"),
        ({"not": {}}, "should not be valid"),
        ({"$ref": "#/$defs/a"}, "cannot be read"),
        ({"$ref": "https://example.org/schema"}, "leads out of the schema"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "refers to itself"),
        (
            {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            "cannot be read",
        ),
    ],
)
def test_where_no_sample_can_be_made_the_reason_is_told(schema: Any, message: str) -> None:
    with pytest.raises(NoSample, match=message):
        sample(schema)


def pair(types: tuple[Any, Any]) -> Any:
    return tuple.__class_getitem__(types)


TYPES = st.recursive(
    st.sampled_from([int, str, bool, float, date, Colour, Literal["a", 1], type(None)]),
    lambda inner: st.one_of(
        inner.map(list.__class_getitem__),
        inner.map(lambda kind: dict.__class_getitem__((str, kind))),
        inner.map(lambda kind: conlist(kind, min_length=2, max_length=3)),
        st.tuples(inner, inner).map(pair),
        st.tuples(inner, inner).map(lambda kinds: Union[kinds]),  # noqa: UP007 - made at run time
    ),
    max_leaves=5,
)


@given(TYPES)
def test_whatever_a_type_says_its_sample_satisfies(kind: Any) -> None:
    adapter = TypeAdapter(kind)
    schema = adapter.json_schema()
    Draft202012Validator(schema).validate(sample(schema))


CONTEXT = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="c")


async def test_a_rule_can_answer_by_schema_in_process() -> None:
    ctx = fake_context(model=MockModel([Rule(reply=by_schema)]))
    reply = await ctx.model.invoke("Hi.", transport=structured(Order))
    assert isinstance(reply.value, Order)


@pytest.mark.parametrize("choice", ["look", "required"])
def test_a_forced_tool_is_called_with_a_sample_of_its_arguments(choice: str) -> None:
    tools = (
        ToolSpec("look", "", {"type": "object", "properties": {"word": {"type": "string"}}}),
        ToolSpec("find", "", {}),
    )
    from dataclasses import replace

    context = replace(CONTEXT, tools=tools, tool_choice=choice)
    (called,) = by_schema(MockRequest((user("Hi."),), context)).calls
    assert (called.name, called.arguments) == ("look", {"word": "word"})


def test_where_no_object_is_asked_for_there_is_none() -> None:
    with pytest.raises(NoSample, match="asks for no object"):
        by_schema(MockRequest((user("Hi."),), CONTEXT))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    with MockServer(MockModel([Rule(reply=by_schema)])) as server:
        got = post(server, "/v1/chat/completions", body)
    assert (got.status, got.data["error"]["code"]) == (400, "no_sample")


def test_over_a_wire_the_schema_is_that_of_the_request() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 9}}}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    body = {"model": "m", "messages": [{"role": "user", "content": ""}], "response_format": form}
    with MockServer(MockModel([Rule(reply=by_schema)])) as server:
        got = post(server, "/v1/chat/completions", body)
    assert json.loads(got.data["choices"][0]["message"]["content"]) == {"n": 9}
