"""Sub-workflows as nodes: what a declaration adds, and which mappings are refused."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import pytest

from agentflow import Workflow, define_workflow, node, route, subflow, validate
from agentflow.graph.kinds import RESULT, Subflow
from tests.graph.definitions import at, told


class Inner(TypedDict):
    city: str
    unit: NotRequired[str]
    sky: NotRequired[str]


@node(requires=["city"], provides=["sky"], routes=[route.deliver("sky")])
def look(state: Any) -> dict[str, str]:
    return {"sky": f"{state['city']} {state.get('unit', 'C')}"}


weather: Workflow[str] = define_workflow(
    "weather", nodes=[look], state=Inner, result=str, description="Looks up.", waive={"AF212": "t"}
)
untyped = define_workflow(
    "untyped",
    nodes=[node(lambda state: {"x": 1}, id="x", provides=["x"], routes=[route.deliver("x")])],
)


def test_a_mapping_says_what_the_node_requires_and_provides() -> None:
    made = subflow(
        "sub",
        weather,
        inputs={"city": "town", "unit": "scale"},
        outputs={"answer": RESULT, "sky_now": "sky"},
        requires=["also", "town"],
        provides=["answer"],
        routes=[route.deliver("answer")],
        timeout=3,
    )
    # An optional input stays optional: its source is not required.
    assert made.requires == ("town", "also")
    assert made.provides == ("answer", "sky_now")
    assert (made.id, made.description, made.timeout, made.run) == ("sub", "Looks up.", 3, None)
    assert isinstance(made.kind, Subflow)
    (branch,) = made.branches
    assert (branch.workflow, dict(branch.outputs)) == (
        weather,
        {"answer": "$result", "sky_now": "sky"},
    )
    assert subflow("sub", weather, description="Own.").description == "Own."


def test_the_subflow_knows_its_line() -> None:
    made = subflow("sub", weather)  # at: subflow
    assert made.place is not None
    assert (made.place.file, made.place.line) == (__file__, at("subflow"))


def test_a_sound_subflow_has_no_findings_and_runs() -> None:
    made = subflow(
        "sub",
        weather,
        inputs={"city": "town", "unit": "scale"},
        outputs={"answer": "$result"},
        routes=[route.deliver("answer")],
    )
    outer = define_workflow(
        "outer", nodes=[made], inputs=["town"], optional_inputs=["scale"], result=str
    )
    assert outer.report.findings == ()
    assert outer.run_sync({"town": "Oslo"}) == "Oslo C"
    assert outer.run_sync({"town": "Oslo", "scale": "F"}) == "Oslo F"


@pytest.mark.parametrize(
    ("inputs", "outputs", "problem", "hint"),
    [
        (
            {},
            {"answer": RESULT},
            "the sub-workflow 'weather' needs the input 'city', and inputs do not map it",
            "add it: inputs={'city': '…'}",
        ),
        (
            {"city": "town", "planet": "world"},
            {"answer": RESULT},
            "'planet' is no input of the sub-workflow 'weather'",
            "take it out of inputs",
        ),
        (
            {"city": "town"},
            {"answer": "moon"},
            "the output 'answer' takes 'moon', which is no field of the sub-workflow 'weather'",
            "take '$result' for what it delivers, or one of its fields",
        ),
    ],
)
def test_a_mapping_that_cannot_work_is_refused(
    inputs: dict[str, str], outputs: dict[str, str], problem: str, hint: str
) -> None:
    routes = [route.deliver("answer")]
    made = subflow("sub", weather, inputs=inputs, outputs=outputs, routes=routes)  # at: mapping
    assert told(validate(made)) == (
        f"here:{at('mapping')}: error AF122: node 'sub': {problem}\n    hint: {hint}"
    )


def test_an_untyped_sub_workflow_takes_any_input_and_gives_what_its_nodes_write() -> None:
    made = subflow(
        "sub", untyped, inputs={"any": "a"}, outputs={"b": "x"}, routes=[route.deliver("b")]
    )
    assert validate(made, inputs=["a"]).findings == ()


def test_a_sub_workflow_with_errors_is_an_error_of_its_node() -> None:
    from agentflow.graph.workflow import assemble

    broken = assemble("broken", [look], place=None, state=Inner, entry="nowhere")
    made = subflow("sub", broken, inputs={"city": "a"}, outputs={"b": RESULT},
                   routes=[route.deliver("b")])  # fmt: skip
    (finding,) = validate(made).findings
    assert (finding.code, finding.message, finding.hint) == (
        "AF122",
        "node 'sub': the sub-workflow 'broken' has errors of its own",
        "mend it first",
    )


@pytest.mark.parametrize(
    ("workflow", "options", "slips"),
    [
        ("weather", {}, ["workflow='weather' is no workflow; make it with define_workflow"]),
        (None, {}, ["workflow=None is no workflow; make it with define_workflow"]),
        (weather, {"inputs": ["city"]}, [
            "inputs=['city'] is no mapping of field names to field names",
        ]),
        (weather, {"inputs": {"city": 5}}, [
            "inputs={'city': 5} is no mapping of field names to field names",
        ]),
        (weather, {"outputs": 5}, ["outputs=5 is no mapping of field names to field names"]),
        (weather, {"run": print, "route": []}, [
            "there is no option run=",
            "there is no option route=; did you mean routes=?",
        ]),
    ],
)  # fmt: skip
def test_a_slip_is_noted_and_never_raised(
    workflow: Any, options: dict[str, Any], slips: list[str]
) -> None:
    made = subflow("sub", workflow, **options)
    assert list(made.slips) == slips
    assert not validate(made).ok
