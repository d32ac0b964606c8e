"""A program that a strict type checker has to accept as it stands; `test_typing.py` runs mypy over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from agentflow import (
    Condition,
    Node,
    Report,
    Retry,
    Route,
    Workflow,
    define_workflow,
    field,
    node,
    route,
    subflow,
    validate,
)


class Answer:
    text: str


@node
async def bare(state: Mapping[str, Any]) -> dict[str, Any]:
    return {}


@node(provides=["a"], routes=[route.deliver("a")], retry=Retry(2))
def full(state: Mapping[str, Any], ctx: Any) -> dict[str, Any]:
    return {"a": 1}


assert_type(bare, Node)
assert_type(full, Node)
assert_type(node(len, id="x"), Node)
assert_type(field("a") == 1, Condition)
assert_type((field("a") > 1) & ~field("b").exists() | field("c").is_in([1]), Condition)
assert_type(route.to("a", lambda state: state["b"] > 1), Route)
assert_type(route.finish(lambda state: state["b"]), Route)
assert_type(validate(bare, full), Report)

text = define_workflow("text", nodes=[full], result=str)
assert_type(text, Workflow[str])
assert_type(define_workflow("answer", nodes=[full], result=Answer), Workflow[Answer])
assert_type(define_workflow("any", nodes=[full]), Workflow[Any])
assert_type(define_workflow("any", nodes=[full], result=int | None), Workflow[Any])
assert_type(subflow("sub", text, outputs={"a": "$result"}), Node)


async def results() -> None:
    assert_type(await text.run({"a": 1}), str)
    assert_type(text.run_sync({"a": 1}), str)
