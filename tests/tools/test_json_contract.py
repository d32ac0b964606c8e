"""Tools whose types somebody else knows: JSON schemas as contracts of arguments and values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import ContractError, OutputInvalid, Tool, ToolFailed, tool
from agentflow.testing import FactRecorder, fake_context
from agentflow.tools import ToolOutput
from agentflow.tools.json_contract import JsonInput, JsonMismatch, json_output

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/leaf"}, "depth": {"type": "integer", "minimum": 0}},
    "required": ["root"],
    "$defs": {"leaf": {"type": "string", "minLength": 1}},
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


async def handler(arguments: dict[str, Any], ctx: Any) -> Any:
    arguments["seen"] = True
    return {"count": arguments.get("depth", 1)}


def made(**options: Any) -> Tool:
    return Tool(id="grow", description="", handler=handler, input=JsonInput(TREE), **options)


async def test_arguments_are_held_to_the_schema_and_the_handler_gets_a_copy_of_them() -> None:
    ctx = fake_context(tools=[made()])
    given = {"root": "oak", "depth": 2, "more": [1]}
    assert (await ctx.tools.invoke("grow", given)).value == {"count": 2}
    assert "seen" not in given
    for bad, reason in (
        ({}, "'root' is a required property"),
        ({"root": ""}, "root: '' should be non-empty"),
        ({"root": "oak", "depth": -1}, "depth: -1 is less than the minimum of 0"),
    ):
        with pytest.raises(ContractError, match=f"the input of tool 'grow': .*{reason}"):
            await ctx.tools.invoke("grow", bad)


async def test_a_value_is_held_to_the_schema_also_inside_of_an_output() -> None:
    promised = json_output({"type": "object", "properties": {"count": {"maximum": 2}}})
    ctx = fake_context(tools=[made(output=promised)])
    assert (await ctx.tools.invoke("grow", {"root": "oak", "depth": 2})).value == {"count": 2}
    with pytest.raises(OutputInvalid, match=r"count: 3 is greater than the maximum of 2"):
        await ctx.tools.invoke("grow", {"root": "oak", "depth": 3})
    assert promised.validate(ToolOutput("text", data={"count": 1})).text == "text"
    with pytest.raises(JsonMismatch):
        promised.validate(ToolOutput("text", data={"count": 3}))


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "properties": {"a": {"type": "word"}}}, "it is no valid JSON schema"),
        ({"type": "array"}, "it is a schema of 'array', not of an object"),
        ({}, "it is a schema of None, not of an object"),
        ({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "refers to 'http://x/y'"),
        ({"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]}, "refers to 'file:///etc"),
    ],
)
def test_a_schema_that_is_none_or_reaches_out_is_refused(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        JsonInput(schema)


def test_a_reference_to_nothing_is_told_when_it_is_met() -> None:
    with pytest.raises(JsonMismatch, match="the schema refers to '/nowhere', which is not in it"):
        JsonInput({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}).accept({"a": 1})


def test_older_drafts_are_read_as_what_they_are() -> None:
    # Before 2020-12, a list under `items` meant one schema for each place.
    places = {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}
    draft = "http://json-schema.org/draft-07/schema#"
    held = JsonInput({"$schema": draft, "type": "object", "properties": {"a": places}})
    assert held.accept({"a": [1, "x"]}) == {"a": [1, "x"]}
    with pytest.raises(JsonMismatch, match=r"a: 1: 2 is not of type 'string'"):
        held.accept({"a": [1, 2]})


@given(st.dictionaries(st.text(max_size=3), VALUES))
def test_what_is_accepted_is_what_was_given(arguments: dict[str, Any]) -> None:
    accepted = JsonInput({"type": "object"}).accept(arguments)
    assert accepted == arguments
    assert accepted is not arguments


async def test_a_tool_tells_how_far_it_is() -> None:
    @tool
    async def dig(depth: int, ctx: Any) -> int:
        """Dig."""
        ctx.progress(1, depth, "digging")
        ctx.progress(2)
        return depth

    recorder = FactRecorder(content=True)
    ctx = fake_context(tools=[dig], observers=[recorder])
    await ctx.tools.invoke("dig", {"depth": 2})
    told = recorder.of("tool.progress")
    assert [dict(fact.data) for fact in told] == [
        {"tool": "dig", "done": 1, "total": 2},
        {"tool": "dig", "done": 2, "total": None},
    ]
    assert [fact.content for fact in told] == ["digging", None]
    assert {fact.call_id for fact in told} == {recorder.only("tool.completed").call_id}


async def test_only_failures_that_are_worth_it_are_tried_again() -> None:
    tries: list[str] = []

    async def fail(arguments: Any, ctx: Any) -> Any:
        tries.append(arguments["kind"])
        raise (ConnectionError if arguments["kind"] == "line" else ValueError)("no")

    failing = Tool(
        id="fail",
        description="",
        handler=fail,
        input=JsonInput({"type": "object"}),
        retries=2,
        retry_on=(ConnectionError,),
    )
    ctx = fake_context(tools=[failing])
    for kind, times in (("line", 3), ("value", 1)):
        tries.clear()
        with pytest.raises(ToolFailed):
            await ctx.tools.invoke("fail", {"kind": kind})
        assert len(tries) == times
