"""Reading declarative workflows: places, names that lead to nothing, sub-workflows in files, and states as data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from agentflow import ContractError, DefinitionError, SpecError, Workflow, append, validate
from agentflow.graph.draw import to_dot, to_mermaid
from agentflow.graph.findings import Report
from agentflow.graph.spec import from_spec, read_spec, report_of, to_spec
from tests.graph.spec_flows import HERE, Mood, State, doubling, everything, small


def at(report: Report) -> list[tuple[str, str]]:
    """Code and place of each finding."""
    return [(finding.code, str(finding.place)) for finding in report]


def flow(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "w", "inputs": ["question"], "nodes": list(nodes), **more}


def replying(*routes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "reply",
        "run": f"{HERE}:reply",
        "requires": ["question"],
        "provides": ["answer"],
        "routes": [*routes, {"deliver": "answer"}],
        **more,
    }


# --- findings and their places -----------------------------------------------------------------


@pytest.mark.case("P019")
@pytest.mark.rule("R229", "R232")
def test_an_unknown_target_in_a_file_is_refused_at_load_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(
        f"""
        id: w
        inputs: [question]
        nodes:
          - id: first
            run: {HERE}:reply
            requires: [question]
            provides: [answer]
            routes:
              - to: nowhere
                when: {{field: answer, op: ==, value: "no"}}
              - deliver: answer
        """
    )

    with pytest.raises(DefinitionError) as refused:
        from_spec(path)

    (finding,) = refused.value.findings
    assert (finding.code, str(finding.place)) == ("AF106", f"{path}#/nodes/0/routes/0")
    assert refused.value.workflow is not None
    assert 'missing_nowhere{{"nowhere<br/>no such node"}}' in to_mermaid(refused.value.workflow)
    assert "nowhere\\nno such node" in to_dot(refused.value.workflow)


def test_findings_about_nodes_routes_and_policies_point_into_the_document() -> None:
    spec = flow(
        replying({"to": "reply"}, id="first"),
        replying(requires=["question", "nothing"]),
        {"id": "lost", "run": f"{HERE}:reply"},
    )
    places = at(report_of(spec))

    assert ("AF109", "#/nodes/2") in places
    assert ("AF110", "#/nodes/2") in places
    assert ("AF115", "#/nodes/0/routes/1") in places
    policies = [
        {"never_after": {"node": "reply", "later": "reply"}},
        {"at_most": {"node": "ghost", "count": 1}},
    ]
    assert [place for _, place in at(report_of(flow(replying(), policies=policies)))] == [
        "#/policies/1"
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no.such.module:f", "ModuleNotFoundError"),
        (f"{HERE}:fetchh", "did you mean 'fetch'?"),
        (f"{HERE}:Box.outside", "there is no 'outside'"),
        ("__main__:gone", "made by another program about itself"),
    ],
)
def test_a_name_that_leads_to_nothing_is_a_finding_at_the_name(name: str, reason: str) -> None:
    report = report_of(flow(replying({"to": "gone", "when": name}, run=name)))

    assert at(report)[:2] == [
        ("AF131", "#/nodes/0/run"),
        ("AF131", "#/nodes/0/routes/0/when"),
    ]
    assert ("AF106", "#/nodes/0/routes/0") in at(report), "the other checks go on"
    assert reason in report.as_text()
    assert {finding.node for finding in report} == {"reply"}


def test_a_module_that_raises_or_ends_the_program_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spec_raises.py").write_text("raise RuntimeError('not today')")
    (tmp_path / "spec_ends.py").write_text("raise SystemExit(3)")

    report = report_of(
        flow(replying(run="spec_raises:f"), replying(id="other", run="spec_ends:f"), entry="reply")
    )

    assert "RuntimeError: not today" in report.as_text()
    assert "SystemExit: 3" in report.as_text()


@pytest.mark.parametrize(
    ("part", "pointer", "reason"),
    [
        ({"result": f"{HERE}:fetch"}, "/result", "not a type"),
        (
            {
                "state": {
                    "fields": {"question": "str", "answer": {"type": "array", "reducer": "os:sep"}}
                }
            },
            "/state/fields/answer/reducer",
            "not a reducer",
        ),
    ],
)
def test_a_name_that_leads_to_the_wrong_kind_is_a_finding(
    part: dict[str, Any], pointer: str, reason: str
) -> None:
    (finding,) = [item for item in report_of(flow(replying(), **part)) if item.code == "AF131"]

    assert str(finding.place) == f"#{pointer}"
    assert reason in finding.message


def test_a_wrong_member_sub_workflow_exception_or_body_is_a_finding() -> None:
    when = {"field": "answer", "op": "==", "value": {"$member": f"{HERE}:State"}}
    spec = flow(
        replying({"deliver": "question", "when": when}, retry={"attempts": 2, "on": ["os:sep"]}),
        {
            "id": "sub",
            "subflow": {"workflow": f"{HERE}:fetch"},
            "routes": [{"deliver": "question"}],
        },
        {"id": "three", "run": "os:sep", "routes": [{"deliver": "question"}]},
    )
    places = at(report_of(spec))

    assert ("AF131", "#/nodes/0/routes/0/when/value/$member") in places
    assert ("AF131", "#/nodes/1/subflow/workflow") in places
    assert ("AF118", "#/nodes/0") in places
    assert ("AF117", "#/nodes/2") in places


def test_a_condition_may_be_imported_by_name() -> None:
    report = read_spec(
        flow(replying({"to": "reply", "when": f"{HERE}:is_online"}), inputs=["question", "status"])
    )

    assert report.workflow is not None
    spec = to_spec(report.workflow)
    assert spec["nodes"][0]["routes"][0]["when"] == {
        "field": "status",
        "op": "==",
        "value": "online",
    }


# --- sub-workflows -----------------------------------------------------------------------------


def holding(workflow: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "outer",
        "inputs": ["question"],
        "nodes": [
            {
                "id": "sub",
                "subflow": {
                    "workflow": workflow,
                    "inputs": {"question": "question"},
                    "outputs": {"answer": "$result"},
                },
                "routes": [{"deliver": "answer"}],
                **more,
            }
        ],
    }


async def test_a_sub_workflow_may_stand_in_place_in_a_file_or_in_a_module(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "small.json").write_text(json.dumps(small.to_spec()))
    for inner in [small.to_spec(), {"ref": "parts/small.json"}, f"{HERE}:small"]:
        path = tmp_path / "outer.json"
        path.write_text(json.dumps(holding(inner)))
        workflow = from_spec(path)

        assert workflow.nodes[0].requires == ("question",)
        assert workflow.nodes[0].provides == ("answer",)
        assert workflow.nodes[0].description == "One node."
        assert await workflow.run({"question": "?"}) == "tagged"


def test_flaws_of_a_referred_file_point_into_that_file_and_are_told_once(tmp_path: Path) -> None:
    inner = small.to_spec()
    inner["nodes"][0]["routes"] = [{"to": "nowhere"}]
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(inner))
    outer = holding({"ref": "bad.json"})
    again = {**outer["nodes"][0], "id": "again", "routes": [{"deliver": "answer"}]}
    outer["nodes"][0]["routes"].insert(0, {"to": "again", "when": f"{HERE}:is_short"})
    outer["nodes"].append(again)
    path = tmp_path / "outer.json"
    path.write_text(json.dumps(outer))

    assert ("AF106", f"{bad}#/nodes/0/routes/0") in at(report_of(path))
    assert at(report_of(path)).count(("AF106", f"{bad}#/nodes/0/routes/0")) == 1

    inner["nodes"][0]["rout"] = []
    bad.write_text(json.dumps(inner))
    assert at(report_of(path)) == [("AF130", f"{bad}#/nodes/0/rout")]


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("gone.json", "No such file"),
        ("outer.json", "holds itself"),
        ("notes.txt", "does not tell its format"),
        ("broken.yaml", "no YAML"),
    ],
)
def test_a_file_that_holds_no_workflow_is_a_finding_at_the_reference(
    tmp_path: Path, ref: str, reason: str
) -> None:
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "notes.txt").write_text("")
    path = tmp_path / "outer.json"
    path.write_text(json.dumps(holding({"ref": ref})))

    (finding,) = report_of(path)

    assert (finding.code, str(finding.place)) == (
        "AF132",
        f"{path}#/nodes/0/subflow/workflow/ref",
    )
    assert reason in finding.message


def test_files_that_refer_to_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    for name, other in [("a", "b"), ("b", "c"), ("c", "b")]:
        (tmp_path / f"{name}.json").write_text(json.dumps(holding({"ref": f"{other}.json"})))

    assert at(report_of(tmp_path / "a.json")) == [
        ("AF132", f"{tmp_path / 'c.json'}#/nodes/0/subflow/workflow/ref")
    ]


def test_flaws_of_inner_workflows_are_told_with_their_own_id(tmp_path: Path) -> None:
    inner = small.to_spec()
    inner["nodes"].append({"id": "lost", "run": f"{HERE}:reply", "routes": [{"deliver": "x"}]})
    (finding,) = [item for item in report_of(holding(inner)) if item.code == "AF109"]

    assert (finding.workflow, finding.node) == ("small", "lost")
    assert str(finding.place) == "#/nodes/0/subflow/workflow/nodes/1"


# --- states as data ----------------------------------------------------------------------------

FIELDS: dict[str, Any] = {
    "question": "str",
    "status": {"enum": ["online", "offline"], "optional": True, "description": "How it is."},
    "notes": {"type": "array", "items": "str", "reducer": "append", "optional": True},
    "total": {"import": "builtins:int", "reducer": f"{HERE}:doubling", "optional": True},
    "maybe": {"type": ["integer", "null"], "optional": True},
    "either": {"anyOf": ["int", {"type": "array"}], "optional": True},
    "report": {
        "type": "object",
        "properties": {"text": "str", "score": {"type": "number"}},
        "required": ["text"],
        "additionalProperties": False,
        "optional": True,
    },
    "open": {"type": "object", "properties": {}, "required": ["x"], "optional": True},
    "counts": {"type": "object", "additionalProperties": "int", "optional": True},
    "answer": {"optional": True},
}


def stated(**more: Any) -> Workflow[Any]:
    found = read_spec(flow(replying(), state={"fields": FIELDS}, **more)).workflow
    assert found is not None
    return found


def test_a_state_may_be_declared_as_data() -> None:
    schema = stated().schema

    assert not schema.problems
    assert schema.required() == ("question",)
    assert schema.fields["question"].annotation is str
    assert schema.fields["status"].annotation == Literal["online", "offline"]
    assert schema.fields["notes"].annotation == list[str]
    assert schema.fields["notes"].reducer is append
    assert schema.fields["total"].annotation is int
    assert schema.fields["total"].reducer is doubling
    assert schema.fields["maybe"].annotation == int | None
    assert schema.fields["either"].annotation == int | list[Any]
    assert schema.fields["counts"].annotation == dict[str, int]
    assert schema.fields["answer"].annotation is Any


def test_a_state_as_data_comes_back_as_it_was_written() -> None:
    back = to_spec(stated())

    assert back["state"] == {"fields": FIELDS}
    assert from_spec(back).manifest() == stated().manifest()


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("question", "q", 5),
        ("status", "online", "away"),
        ("maybe", None, "x"),
        ("either", [1], "x"),
        ("report", {"text": "t", "score": 1.5}, {"text": "t", "other": 1}),
        ("report", {"text": "t"}, {"score": 1.5}),
        ("open", {"x": 1, "more": 2}, {"more": 2}),
        ("counts", {"a": 1}, {"a": "x"}),
    ],
)
async def test_a_state_as_data_is_held_to_like_any_other(field: str, good: Any, bad: Any) -> None:
    workflow = stated(inputs=["question"], optional_inputs=[field] if field != "question" else [])

    assert await workflow.run({"question": "q", field: good}) == "q!"
    with pytest.raises(ContractError):
        await workflow.run({"question": "q", field: bad})


def test_the_fingerprint_knows_what_is_inside_of_an_object() -> None:
    changed = {**FIELDS, "report": {**FIELDS["report"], "required": []}}
    other = read_spec(flow(replying(), state={"fields": changed})).workflow

    assert other is not None
    assert other.fingerprint != stated().fingerprint


def test_a_class_that_is_derived_from_a_state_as_data_is_another_one() -> None:
    derived = type("Derived", (stated().state,), {})
    report = read_spec(flow(replying(), state={"fields": FIELDS}))
    assert report.workflow is not None

    with pytest.raises(SpecError, match="Derived"):
        to_spec(
            Workflow(
                id="w",
                nodes=report.workflow.nodes,
                state=derived,
                entry="reply",
                schema=report.workflow.schema,
            )
        )


@pytest.mark.parametrize(
    "result",
    ["str", "None", f"{HERE}:State", {"type": "array", "items": {"type": ["string", "null"]}}],
)
def test_the_result_may_be_named_or_described(result: Any) -> None:
    workflow = read_spec(flow(replying(), result=result)).workflow

    assert workflow is not None
    assert (
        read_spec(to_spec(workflow)).workflow.manifest()["result"]  # type: ignore[union-attr]
        == workflow.manifest()["result"]
        is not None
    )


def test_the_defaults_of_a_class_are_stated_and_compared() -> None:
    spec = flow(replying(), state=f"{HERE}:Defaults")
    workflow = from_spec(spec)

    assert to_spec(workflow)["state"] == {
        "import": f"{HERE}:Defaults",
        "defaults": ["tries", "answer"],
    }
    spec["state"] = {"import": f"{HERE}:Defaults", "defaults": ["tries"]}
    (finding,) = [item for item in report_of(spec) if item.code == "AF133"]
    assert str(finding.place) == "#/state/defaults"
    assert finding.severity == "warning"
    assert finding.hint == 'state ["tries", "answer"]'
    assert finding in validate(spec).findings


# --- without imports ---------------------------------------------------------------------------


def test_nothing_is_imported_when_that_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spec_tripwire.py").write_text("raise RuntimeError('imported')")
    trap = "spec_tripwire:x"
    spec = flow(
        replying(
            {"finish": trap, "when": trap},
            {"to": "sub", "when": {"field": "answer", "op": "==", "value": {"$member": trap}}},
            run=trap,
            retry={"attempts": 2, "backoff": trap, "on": [trap]},
        ),
        {
            "id": "sub",
            "subflow": {
                "workflow": trap,
                "inputs": {"a": "question"},
                "outputs": {"answer": "b", "more": "$result"},
            },
            "routes": [{"deliver": "more"}],
        },
        state={"fields": {"question": trap, "answer": {"import": trap, "reducer": trap,
                                                       "optional": True},
                          "more": {"optional": True}}},
        result=trap,
    )  # fmt: skip

    assert report_of(spec, no_import=True).ok
    assert validate(spec, no_import=True).ok
    assert "spec_tripwire" not in sys.modules
    assert not report_of(spec).ok


def test_structure_and_data_flow_are_checked_without_imports() -> None:
    spec = flow(
        {
            "id": "fetch",
            "run": "far.away:fetch",
            "may_provide": ["status"],
            "routes": [{"to": "reply"}, {"to": "gone"}],
        },
        replying(run="far.away:reply", requires=["status"]),
        state={"fields": {"question": "str", "status": {"optional": True},
                          "answer": {"optional": True}}},
    )  # fmt: skip
    found = at(report_of(spec, no_import=True))

    assert ("AF106", "#/nodes/0/routes/1") in found
    spec["nodes"][0]["routes"].pop()
    assert ("AF201", "#/nodes/1") in at(report_of(spec, no_import=True))


def test_a_workflow_that_was_written_is_checked_alike_with_and_without_imports() -> None:
    spec = to_spec(everything)

    assert report_of(spec).ok
    assert report_of(spec, no_import=True).ok
    spec["nodes"][2]["provides"] = []
    spec["nodes"][2]["may_provide"] = ["answer"]
    with_imports = [finding for finding in report_of(spec) if finding.code == "AF203"]
    without = [finding for finding in report_of(spec, no_import=True) if finding.code == "AF203"]
    assert [str(finding.place) for finding in without] == ["#/nodes/2/routes/0"]
    assert [str(finding.place) for finding in with_imports] == ["#/nodes/2/routes/0"]


def test_what_is_not_known_without_imports_is_waived_and_not_made_up() -> None:
    closed = {
        "to": "reply",
        "when": {"field": "status", "op": "is_in", "value": ["online", "offline"]},
    }
    spec = flow(
        {
            "id": "fetch",
            "run": "far.away:fetch",
            "provides": ["status"],
            "requires": ["tries"],
            "routes": [closed],
        },
        replying(run="far.away:reply"),
        state="far.away:State",
    )
    report = report_of(spec, no_import=True)

    assert report.ok
    assert {(waiver.finding.code, waiver.reason) for waiver in report.waivers} == {
        ("AF201", "far.away:State was not imported, so this may be wrong"),
        ("AF302", "far.away:State was not imported, so this may be wrong"),
    }
    spec["state"] = {"import": "far.away:State", "defaults": []}
    assert "AF201" in [code for code, _ in at(report_of(spec, no_import=True))]
    spec["state"] = {"import": "far.away:State", "defaults": ["tries"]}
    assert report_of(spec, no_import=True).ok


def test_a_workflow_without_its_code_is_drawn_but_neither_run_nor_written() -> None:
    reading = read_spec(to_spec(everything), no_import=True)
    workflow = reading.workflow

    assert workflow is not None
    # A member of an enum is shown by its name: its value is not known.
    assert to_mermaid(workflow).replace("Mood.CROSS", "") == to_mermaid(everything).replace(
        "#60;Mood.CROSS#58; 'cross'#62;", ""
    )
    assert [node["run"] for node in workflow.manifest()["nodes"]] == [
        node["run"] for node in everything.manifest()["nodes"]
    ]
    with pytest.raises(SpecError, match=r"spec_flows:fetch was not imported"):
        workflow.run_sync({"question": "?"})
    with pytest.raises(SpecError, match="read the specification with imports"):
        to_spec(workflow)


# --- the record and the definition -------------------------------------------------------------


@pytest.mark.rule("R241")
async def test_a_node_that_is_not_visited_is_in_the_manifest_and_not_in_the_facts() -> None:
    workflow = from_spec(to_spec(everything))
    visited: list[str | None] = []

    await workflow.run(
        {"question": "anybody there?"},
        observers=[lambda fact: visited.append(fact.node_id)],
    )

    assert "sorry" in [node["id"] for node in workflow.manifest()["nodes"]]
    assert "fetch" in visited
    assert "sorry" not in visited


def test_a_state_is_what_the_author_named() -> None:
    workflow = from_spec(to_spec(everything))

    assert workflow.state is State
    assert workflow.schema.fields["mood"].annotation is Mood
