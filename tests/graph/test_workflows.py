"""Workflows: what a definition holds, what it may be given, and that making it changes nothing."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import (
    DefinitionError,
    Node,
    Retry,
    Uses,
    Workflow,
    define_workflow,
    field,
    node,
    route,
    subflow,
    validate,
)
from agentflow.graph.place import Place
from tests.graph.definitions import at
from tests.house.repository import ROOT


class State(TypedDict):
    question: str
    hint: NotRequired[str]
    notes: NotRequired[str]
    answer: NotRequired[str]


@node(
    requires=["question"],
    provides=["notes"],
    routes=[route.to("write")],
)
async def read(state: Any) -> dict[str, str]:
    """Read what there is."""
    return {"notes": f"about {state['question']}"}


@node(requires=["notes"], provides=["answer"], routes=[route.to("check")])
def write(state: Any) -> dict[str, str]:
    return {"answer": state["notes"].upper()}


@node(requires=["answer"], routes=[route.deliver("answer")])
def check(state: Any) -> None:
    return None


@node(provides=["answer"], routes=[route.deliver("answer")])
def apologise(state: Any) -> dict[str, str]:
    return {"answer": "sorry"}


def service(**options: Any) -> Workflow[Any]:
    given: dict[str, Any] = {"nodes": [read, write, check], "state": State, **options}
    return define_workflow("service", **given)


def loop(**options: Any) -> Workflow[Any]:
    @node(
        provides=["n"],
        starts_round=True,
        routes=[route.deliver("n", field("n") >= 3), route.to("count")],
    )
    def count(state: Any) -> dict[str, int]:
        return {"n": state.get("n", 0) + 1}

    return define_workflow("loop", nodes=[count], **{"max_rounds": 5, **options})


# --- what a definition holds -------------------------------------------------------------------


@pytest.mark.rule("R228", "R235")
def test_a_definition_holds_nodes_routes_and_the_way_of_ending() -> None:
    workflow = service(result=str, version="2", description="Answers.", on_error=None)
    assert [each.id for each in workflow.nodes] == ["read", "write", "check"]
    assert (workflow.id, workflow.version, workflow.description) == ("service", "2", "Answers.")
    assert (workflow.entry, workflow.result, workflow.max_rounds) == ("read", str, None)
    assert workflow.shape.exits == {"check"}
    assert workflow.run_sync({"question": "up?"}) == "ABOUT UP?"
    assert repr(workflow) == "<Workflow 'service' version '2', 3 nodes>"


def test_a_definition_knows_its_line_and_cannot_be_changed() -> None:
    workflow = define_workflow("w", nodes=[read, write, check], state=State)  # at: definition
    assert workflow.place == Place(__file__, at("definition"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        workflow.entry = "write"  # type: ignore[misc]
    with pytest.raises(TypeError):
        workflow.waive["AF210"] = "x"  # type: ignore[index]


def test_the_entry_is_the_first_node_unless_it_is_named() -> None:
    assert service().entry == "read"
    assert service(nodes=[check, write, read], entry="read").entry == "read"


@pytest.mark.rule("R229")
def test_a_bad_definition_is_refused_before_there_is_anything_to_run() -> None:
    with pytest.raises(DefinitionError) as refused:
        service(entry="nowhere", max_rounds=0)
    assert [finding.code for finding in refused.value.findings] == ["AF118", "AF105"]
    assert refused.value.workflow_id == "service"
    assert refused.value.code == "definition"
    assert str(refused.value).startswith("workflow 'service' cannot run: 2 errors\n")


# --- inputs ------------------------------------------------------------------------------------


class Model(BaseModel):
    question: str
    limit: int = 3
    answer: str | None = None


@pytest.mark.parametrize(
    ("options", "inputs", "optional", "open_inputs"),
    [
        ({}, ("question",), ("hint",), False),
        ({"inputs": ["question", "hint"]}, ("question", "hint"), (), False),
        ({"inputs": []}, (), ("question", "hint"), False),
        ({"optional_inputs": []}, ("question",), (), False),
        ({"optional_inputs": ["hint", "notes"]}, ("question",), ("hint", "notes"), False),
        ({"optional_inputs": ["question"]}, (), ("question",), False),
        (
            {"inputs": ["question"], "optional_inputs": ["answer"]},
            ("question",),
            ("answer",),
            False,
        ),
        ({"inputs": ["question", "question"]}, ("question",), ("hint",), False),
        ({"inputs": {"question", "hint"}}, ("hint", "question"), (), False),
    ],
)
def test_inputs_come_from_the_schema_unless_they_are_named(
    options: dict[str, Any], inputs: tuple[str, ...], optional: tuple[str, ...], open_inputs: bool
) -> None:
    from agentflow.graph.workflow import assemble

    workflow = assemble("w", [read, write, check], place=None, state=State, **options)
    assert (workflow.inputs, workflow.optional_inputs) == (inputs, optional)
    assert workflow.open_inputs is open_inputs


def test_fields_with_defaults_are_optional_inputs() -> None:
    @node(provides=["answer"], routes=[route.deliver("answer")])
    def answer(state: Any) -> dict[str, str]:
        return {"answer": state.question}

    workflow = define_workflow("w", nodes=[answer], state=Model, waive={"AF212": "a test"})
    assert (workflow.inputs, workflow.optional_inputs) == (("question",), ("limit",))


@pytest.mark.parametrize(
    ("options", "open_inputs"),
    [({}, True), ({"inputs": ["n"]}, False), ({"optional_inputs": []}, False)],
)
def test_an_untyped_workflow_takes_anything_until_it_says_what(
    options: dict[str, Any], open_inputs: bool
) -> None:
    from agentflow.graph.workflow import assemble

    assert assemble("w", [check], place=None, **options).open_inputs is open_inputs


# --- purity ------------------------------------------------------------------------------------


@pytest.mark.case("P020")
def test_defining_twice_from_the_same_nodes_gives_the_same_workflow_twice() -> None:
    nodes = [read, write, check, apologise]
    before = [(each.id, each.routes, each.on_error, id(each)) for each in nodes]
    first = service(nodes=nodes, on_error="apologise")
    second = service(nodes=nodes, on_error="apologise")
    assert first.fingerprint == second.fingerprint
    assert [(each.id, each.routes, each.on_error, id(each)) for each in nodes] == before
    assert first.manifest() == second.manifest()


@pytest.mark.case("P020")
def test_compiling_twice_gives_plans_that_share_nothing_they_could_change() -> None:
    from agentflow.graph.plan import compile_plan

    workflow = service(nodes=[read, write, check, apologise], on_error="apologise")
    manifest = workflow.manifest()
    first, second = compile_plan(workflow), compile_plan(workflow)
    assert list(first.nodes) == list(second.nodes)
    assert not {id(each) for each in first.nodes.values()} & {
        id(each) for each in second.nodes.values()
    }
    assert workflow.manifest() == manifest
    assert workflow.report is workflow.report
    assert workflow.report.findings == ()


@pytest.mark.case("P020")
def test_a_node_may_serve_two_workflows() -> None:
    @node(provides=["question"], routes=[route.to("read")])
    def ask(state: Any) -> dict[str, str]:
        return {"question": "why?"}

    short, long = service(), service(nodes=[ask, read, write, check], inputs=[])
    assert short.run_sync({"question": "up?"}) == "ABOUT UP?"
    assert long.run_sync({}) == "ABOUT WHY?"
    assert short.run_sync({"question": "up?"}) == "ABOUT UP?"


def test_a_run_leaves_the_definition_as_it_was() -> None:
    workflow = service()
    before = (workflow.fingerprint, workflow.manifest())
    workflow.run_sync({"question": "up?"})
    assert (workflow.fingerprint, workflow.manifest()) == before


def test_a_plan_of_a_workflow_with_errors_cannot_be_had() -> None:
    from agentflow.graph.workflow import assemble

    with pytest.raises(DefinitionError):
        _ = assemble("w", [read], place=None, state=State).plan


# --- the manifest and the fingerprint ----------------------------------------------------------


@pytest.mark.rule("R257")
def test_the_manifest_lists_what_a_node_declares() -> None:
    @node(
        requires=["question"],
        provides=["answer"],
        may_provide=["notes"],
        routes=[
            route.deliver("answer", field("notes").is_in(["a"])),
            route.finish(str, reads=["answer"]),
        ],
        timeout=2,
        retry=Retry(2, 0.5, ValueError),
        uses=Uses(model_calls=1),
        metadata={"owner": "ada"},
    )
    def answer(state: Any) -> dict[str, str]:
        """Answer."""
        return {"answer": ""}

    (entry,) = service(nodes=[answer], waive={"AF212": "a test"}).manifest()["nodes"]
    assert entry == {
        "id": "answer",
        "description": "Answer.",
        "requires": ["question"],
        "provides": ["answer"],
        "may_provide": ["notes"],
        "run": f"{__name__}:test_the_manifest_lists_what_a_node_declares.<locals>.answer",
        "kind": None,
        "routes": [
            {
                "kind": "deliver",
                "target": None,
                "field": "answer",
                "function": None,
                "when": {"field": "notes", "op": "is_in", "value": ["a"]},
                "reads": None,
            },
            {
                "kind": "finish",
                "target": None,
                "field": None,
                "function": "builtins:str",
                "when": None,
                "reads": ["answer"],
            },
        ],
        "starts_round": False,
        "on_error": None,
        "timeout": 2,
        "options": {},
        "retry": {"attempts": 2, "backoff": 0.5, "on": ["ValueError"]},
        "uses": {"model_calls": 1, "tool_calls": 0},
        "metadata": {"owner": "ada"},
        "waive": {},
    }


def test_the_manifest_is_json() -> None:
    manifest = service(nodes=[read, write, check, apologise], on_error="apologise").manifest()
    assert json.loads(json.dumps(manifest)) == manifest
    assert manifest["state"]["question"] == {
        "type": "str",
        "required": True,
        "default": False,
        "reducer": None,
        "private": False,
    }


def labelled(**options: Any) -> Workflow[Any]:
    """One node with everything, so that each part can be changed."""
    given: dict[str, Any] = {
        "id": "only",
        "provides": ["n"],
        "routes": [route.deliver("n")],
        "metadata": {"a": 1},
        **options,
    }
    return define_workflow("w", nodes=[node(lambda state: {"n": 1}, **given)])


SAME: list[tuple[str, dict[str, Any]]] = [
    ("description", {"description": "other"}),
    ("metadata", {"metadata": {"a": 2}}),
    ("waivers", {"waive": {"AF210": "why not"}}),
]
OTHER: list[tuple[str, dict[str, Any]]] = [
    ("id", {"id": "other"}),
    ("contract", {"may_provide": ["m"]}),
    ("route", {"routes": [route.deliver("n", field("n") == 1), route.finish(len)]}),
    ("condition", {"routes": [route.deliver("n", field("n") == 2), route.finish(len)]}),
    ("timeout", {"timeout": 1}),
    ("retry", {"retry": Retry(2)}),
    ("uses", {"uses": Uses(model_calls=1)}),
    ("round", {"starts_round": True}),
]


@pytest.mark.parametrize("options", [pytest.param(each, id=name) for name, each in SAME])
def test_labels_do_not_change_the_fingerprint(options: dict[str, Any]) -> None:
    assert labelled(**options).fingerprint == labelled().fingerprint


@pytest.mark.parametrize("options", [pytest.param(each, id=name) for name, each in OTHER])
def test_whatever_decides_how_a_run_goes_changes_the_fingerprint(options: dict[str, Any]) -> None:
    found = {labelled(**each).fingerprint for _, each in [("", {}), *OTHER]}
    assert len(found) == 1 + len(OTHER)
    assert labelled(**options).fingerprint in found


def test_the_workflows_own_limits_and_contracts_are_in_the_fingerprint() -> None:
    variants = [
        service(),
        service(result=str),
        service(max_rounds=2),
        service(nodes=[read, write, check, apologise], on_error="apologise"),
        service(inputs=["question", "hint"]),
    ]
    assert len({each.fingerprint for each in variants}) == len(variants)
    assert service(version="7", description="x").fingerprint == service().fingerprint


class Labels(TypedDict):
    description: str
    version: NotRequired[str]


class OtherLabels(TypedDict):
    description: int
    version: NotRequired[str]


def test_a_field_called_like_a_label_is_a_field() -> None:
    @node(routes=[route.deliver("description")])
    def show(state: Any) -> None:
        return None

    waive = {"AF212": "a test"}
    first, second = (
        define_workflow("w", nodes=[show], state=state, waive=waive)
        for state in (Labels, OtherLabels)
    )
    assert first.fingerprint != second.fingerprint


def test_a_sub_workflow_is_part_of_the_fingerprint() -> None:
    def outer(inner: Workflow[Any]) -> Workflow[Any]:
        return define_workflow(
            "outer",
            nodes=[subflow("sub", inner, outputs={"n": "$result"}, routes=[route.deliver("n")])],
        )

    assert outer(loop()).fingerprint == outer(loop(description="x")).fingerprint
    assert outer(loop()).fingerprint != outer(loop(max_rounds=6)).fingerprint


PROGRAM = """
from typing import Annotated, TypedDict
from pydantic import AfterValidator
from agentflow import define_workflow, field, node, route

class Opaque:
    pass

class State(TypedDict):
    a: Annotated[int, AfterValidator(lambda value: value)]

@node(requires=["a"], routes=[
    route.deliver("a", field("a").is_in({"x", "y", "z", "zz"})),
    route.deliver("a", field("a") == frozenset({"x", "y", "z"})),
    route.deliver("a", field("a") == Opaque()),
    route.deliver("a"),
])
def only(state):
    return None

from agentflow.graph.workflow import assemble
print(assemble("w", [only], place=None, state=State).fingerprint)
"""


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


# --- validate ----------------------------------------------------------------------------------


@pytest.mark.rule("R229")
def test_validate_takes_a_workflow_or_loose_nodes() -> None:
    assert validate(service()).ok
    assert validate(read, write, check, state=State).findings == ()
    report = validate(read, write, state=State)
    assert not report.ok
    assert report.workflow == "workflow"
    assert validate(read, write, check, state=State, id="named").workflow == "named"


def test_validate_calls_a_report_what_define_workflow_raises() -> None:
    with pytest.raises(DefinitionError) as refused:
        define_workflow("w", nodes=[read, write], state=State)
    report = validate(read, write, state=State, id="w")
    assert [(each.code, each.message) for each in refused.value.findings] == [
        (each.code, each.message) for each in report.findings
    ]


def test_a_definition_error_carries_the_definition_it_refuses() -> None:
    with pytest.raises(DefinitionError) as refused:
        service(entry="nowhere")
    assert refused.value.workflow is not None
    assert refused.value.workflow.report.findings == refused.value.findings


def test_nodes_may_come_from_any_iterable() -> None:
    def each() -> Any:
        yield from (read, write, check)

    assert isinstance(service(nodes=each()).nodes, tuple)
    assert all(isinstance(one, Node) for one in service(nodes=each()).nodes)
