"""Fields: whatever a typed workflow names is a field of its schema."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import Node, field, node, route, subflow, validate
from agentflow.graph.findings import Finding
from tests.graph.definitions import at, told


class State(TypedDict):
    question: str
    answer: NotRequired[str]
    service: dict[str, str]


class Model(BaseModel):
    question: str
    answer: str | None = None


def reply(*routes: Any, **options: Any) -> Node:
    given: dict[str, Any] = {
        "requires": ["question"],
        "provides": ["answer"],
        "routes": [*routes, route.deliver("answer")],
        **options,
    }
    return node(lambda state: {"answer": ""}, id="reply", **given)


def of_fields(*nodes: Node, **options: Any) -> list[Finding]:
    return [
        each for each in validate(*nodes, **{"state": State, **options}) if each.code == "AF120"
    ]


def test_a_sound_definition_names_only_what_the_schema_has() -> None:
    sound = reply(route.deliver("answer", field("service.status") == "online"))
    assert validate(sound, state=State).findings == ()


@pytest.mark.parametrize("option", ["requires", "provides", "may_provide"])
def test_an_unknown_field_of_a_node_is_refused_at_the_node(option: str) -> None:
    given = {"requires": ["question"], "provides": ["answer"], "may_provide": []}
    given[option] = [*given[option], "qestion"]
    options: dict[str, Any] = {**given, "routes": [route.deliver("answer")]}
    bad = node(lambda state: {"answer": ""}, id="reply", **options)  # at: node
    assert told(validate(bad, state=State)) == (
        f"here:{at('node')}: error AF120: {option} of node 'reply' names the field 'qestion', which "
        f"State does not have\n"
        f"    hint: did you mean 'question'?"
    )


@pytest.mark.parametrize(
    ("made", "name", "text"),
    [
        (route.deliver("result"), "result", "deliver 'result'"),
        (route.to("reply", field("mood.now") == 1), "mood", "to 'reply' when mood.now == 1"),
        (route.to_if_error("reply"), "error", "to 'reply' when error is set"),
        (route.deliver_if_ready("result"), "result", "deliver 'result' when result is ready"),
        (
            route.deliver("answer", ~(field("a") == 1) & field("question").exists()),
            "a",
            "deliver 'answer' when not a == 1 and question exists",
        ),
        (route.finish(len, reads=["total"]), "total", "finish with len"),
    ],
)
def test_an_unknown_field_of_a_route_is_refused_at_the_route(
    made: Any, name: str, text: str
) -> None:
    (finding,) = of_fields(reply(made), max_rounds=2)
    assert finding.message == (
        f"a route of node 'reply' ({text}) names the field {name!r}, which State does not have"
    )
    assert finding.hint == f"add {name!r} to State"
    assert finding.place == made.place


@pytest.mark.parametrize("option", ["inputs", "optional_inputs"])
def test_an_unknown_input_is_refused_at_the_definition(option: str) -> None:
    options: dict[str, Any] = {option: ["question", "zip"]}
    report = validate(reply(), state=State, **options)  # at: inputs
    assert told(report) == (
        f"here:{at('inputs')}: error AF120: {option} names the field 'zip', which State does not have\n"
        f"    hint: add 'zip' to State"
    )


@pytest.mark.parametrize("schema", [State, Model])
def test_every_kind_of_schema_is_asked(schema: Any) -> None:
    (finding,) = of_fields(reply(may_provide=["x"]), state=schema)
    assert finding.message.endswith(f"which {schema.__name__} does not have")


def test_the_fields_of_a_subflow_are_asked_too() -> None:
    inner = subflow("sub", _inner(), inputs={"a": "qestion"}, outputs={"anser": "$result"},
                    routes=[route.deliver("anser")])  # fmt: skip
    assert [each.hint for each in of_fields(inner)] == [
        "did you mean 'question'?",
        "did you mean 'answer'?",
        "did you mean 'answer'?",
    ]


def _inner() -> Any:
    from agentflow import define_workflow

    return define_workflow(
        "inner",
        nodes=[node(lambda state: None, id="a", requires=["a"], routes=[route.deliver("a")])],
        inputs=["a"],
    )


def test_an_untyped_workflow_may_name_anything() -> None:
    assert of_fields(reply(), state=None) == []


def test_a_schema_that_cannot_be_read_is_the_only_finding() -> None:
    report = validate(reply(may_provide=["x"]), state=5)
    assert [each.code for each in report] == ["AF119"]
