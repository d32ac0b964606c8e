"""The declarative form of branches: short and long, in files, with places in it, and without imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentflow import Report, Workflow, validate
from agentflow.graph.draw import to_mermaid
from agentflow.graph.kinds import MapEach, Parallel, Race
from agentflow.graph.spec import from_spec, read_spec, report_of, to_spec
from agentflow.graph.spec.form import flaws
from tests.graph import spec_flows
from tests.graph.spec_flows import HERE, branched, small

SMALL = f"{HERE}:small"
A = {"name": "a", "workflow": SMALL}
END = [{"finish": f"{HERE}:shout", "reads": ["question"]}]


def flow(kind: str, held: dict[str, Any], **more: Any) -> dict[str, Any]:
    only = {"id": "only", kind: held, "routes": END, **more}
    return {"id": "w", "inputs": ["question"], "nodes": [only]}


def at(report: Report) -> list[tuple[str, str]]:
    """Code and place of each finding."""
    return [(finding.code, str(finding.place)) for finding in report]


def kind_of(spec: dict[str, Any]) -> Any:
    workflow = read_spec(spec).workflow
    assert workflow is not None
    return workflow.nodes[0].kind


# --- what may be written --------------------------------------------------------------------------


def test_a_branch_without_mappings_takes_fields_of_the_same_names() -> None:
    kind = kind_of(flow("parallel", {"branches": [A]}))
    assert isinstance(kind, Parallel)
    (branch,) = kind.branches
    assert branch.workflow is small
    assert (dict(branch.inputs), dict(branch.outputs)) == (
        {"question": "question"},
        {"a": "$result"},
    )


def test_one_mapping_that_is_written_says_that_there_are_no_others() -> None:
    held = {"branches": [{**A, "inputs": {"question": "question"}}]}
    (branch,) = kind_of(flow("parallel", held)).branches
    assert dict(branch.outputs) == {}


def test_the_options_of_each_kind_are_read() -> None:
    collect = {"on_branch_error": "collect", "errors": "bad"}
    mapped = kind_of(
        flow(
            "map_each",
            {
                "workflow": SMALL,
                "over": {"function": f"{HERE}:some_notes"},
                "item": "question",
                "into": "answers",
                "concurrency": 2,
                "max_items": 7,
                **collect,
            },
        )
    )
    assert isinstance(mapped, MapEach)
    assert mapped.over is spec_flows.some_notes
    assert (mapped.concurrency, mapped.max_items, mapped.on_branch_error, mapped.errors) == (
        2,
        7,
        "collect",
        "bad",
    )
    raced = kind_of(flow("race", {"branches": [A], "into": "x", "winner": "who"}))
    assert isinstance(raced, Race)
    assert (dict(raced.branches[0].outputs), raced.winner) == ({"x": "$result"}, "who")


async def test_branches_may_stand_in_files_and_in_modules(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small.to_spec()))
    held = {
        "branches": [
            {"name": "file", "workflow": {"ref": "small.yaml"}},
            {"name": "module", "workflow": SMALL},
            {"name": "place", "workflow": small.to_spec()},
        ]
    }
    spec = flow("parallel", held)
    spec["nodes"][0]["routes"] = [{"finish": f"{HERE}:everything_there"}]
    (tmp_path / "outer.json").write_text(json.dumps(spec))
    workflow = from_spec(tmp_path / "outer.json")
    assert await workflow.run({"question": "?"}) == {
        "question": "?",
        "file": "tagged",
        "module": "tagged",
        "place": "tagged",
    }


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_comes_back_the_same(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"flow.{suffix}"
    # Its branches keep their order although the keys are sorted.
    text = yaml.safe_dump(branched.to_spec())
    if suffix == "json":
        text = json.dumps(branched.to_spec(), sort_keys=True)
    path.write_text(text, encoding="utf-8")
    back = Workflow.from_spec(path)
    assert back.manifest() == branched.manifest()
    assert back.to_spec() == branched.to_spec()


# --- what must not --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "held", "pointer", "said"),
    [
        ("parallel", {}, "/nodes/0/parallel", "'branches' is missing"),
        ("parallel", {"branches": {}}, "/nodes/0/parallel/branches", "is not a list"),
        (
            "parallel",
            {"branches": [{**A, "input": {}}]},
            "/nodes/0/parallel/branches/0/input",
            "did you mean 'inputs'?",
        ),
        (
            "race",
            {"branches": [A], "on_branch_error": "ignore"},
            "/nodes/0/race/on_branch_error",
            "'cancel', 'collect'",
        ),
        (
            "map_each",
            {"workflow": SMALL, "over": "xs", "item": "question"},
            "/nodes/0/map_each",
            "'into' is missing",
        ),
        (
            "map_each",
            {"workflow": SMALL, "over": {"func": "m:f"}, "item": "x", "into": "y"},
            "/nodes/0/map_each/over",
            "'function'",
        ),
        (
            "map_each",
            {"workflow": SMALL, "over": "xs", "item": "x", "into": "y", "max_items": "9"},
            "/nodes/0/map_each/max_items",
            "is not a whole number",
        ),
    ],
)
def test_a_flaw_is_told_at_its_pointer(
    kind: str, held: dict[str, Any], pointer: str, said: str
) -> None:
    found = [(flaw.pointer, f"{flaw.message}; {flaw.hint}") for flaw in flaws(flow(kind, held))]
    assert any(where.startswith(pointer) and said in text for where, text in found), found


def test_two_kinds_at_one_node_are_refused() -> None:
    spec = flow("race", {"branches": [A]})
    spec["nodes"][0]["run"] = f"{HERE}:reply"
    assert [flaw.pointer for flaw in flaws(spec)] == ["/nodes/0"]


@pytest.mark.case("P008")
def test_findings_about_branches_point_to_the_node_and_those_inside_to_where_they_are() -> None:
    inner = small.to_spec()
    inner["nodes"].append({"id": "lost", "run": f"{HERE}:reply", "routes": [{"deliver": "x"}]})
    give = {"inputs": {"question": "question"}, "outputs": {"answer": "$result"}}
    held = [{**A, **give}, {"name": "b", "workflow": inner, **give}]
    found = at(report_of(flow("parallel", {"branches": held})))
    assert ("AF128", "#/nodes/0") in found
    assert ("AF109", "#/nodes/0/parallel/branches/1/workflow/nodes/1") in found


def test_names_that_lead_to_nothing_are_told_where_they_stand() -> None:
    held = {"branches": [{**A, "workflow": f"{HERE}:gone"}]}
    assert ("AF131", "#/nodes/0/parallel/branches/0/workflow") in at(
        report_of(flow("parallel", held))
    )
    mapped = {
        "workflow": SMALL,
        "over": {"function": f"{HERE}:gone"},
        "item": "question",
        "into": "answers",
    }
    assert ("AF131", "#/nodes/0/map_each/over/function") in at(report_of(flow("map_each", mapped)))


def test_two_branches_of_one_name_are_told_at_the_second() -> None:
    (finding,) = report_of(flow("race", {"branches": [A, A]}))
    assert (finding.code, str(finding.place)) == ("AF103", "#/nodes/0/race/branches/1/name")
    assert finding.message == "two branches have the name 'a'"


def test_a_slip_in_a_branch_is_told_at_its_node() -> None:
    held = {"branches": [{**A, "name": "no name"}]}
    assert ("AF103", "#/nodes/0") in at(report_of(flow("race", held)))


# --- without imports ------------------------------------------------------------------------------


def test_a_workflow_that_was_written_is_checked_and_drawn_without_imports() -> None:
    reading = read_spec(to_spec(branched), no_import=True)
    assert reading.report.ok
    assert reading.workflow is not None
    assert to_mermaid(reading.workflow) == to_mermaid(branched)


def test_two_writers_are_refused_without_imports_where_the_state_is_known() -> None:
    give = {"inputs": {"question": "question"}, "outputs": {"answer": "$result"}}
    held = [{"name": name, "workflow": "far.away:x", **give} for name in "ab"]
    spec = flow("parallel", {"branches": held})
    spec["state"] = {"fields": {"question": "str", "answer": {"type": "array", "optional": True}}}
    assert "AF128" in [code for code, _ in at(report_of(spec, no_import=True))]
    spec["state"]["fields"]["answer"]["reducer"] = "append"
    assert report_of(spec, no_import=True).ok


def test_what_is_not_known_of_reducers_is_not_made_up() -> None:
    give = {"inputs": {"question": "question"}, "outputs": {"answer": "$result"}}
    held = [{"name": name, "workflow": "far.away:x", **give} for name in "ab"]
    spec = flow("parallel", {"branches": held})
    spec["state"] = "far.away:State"
    report = report_of(spec, no_import=True)
    assert report.ok
    assert "AF128" in {waiver.finding.code for waiver in report.waivers}


def test_a_reducer_by_name_is_the_same_one_inside_without_imports() -> None:
    def stated(reducer: str) -> dict[str, Any]:
        return {"fields": {"log": {"reducer": reducer, "optional": True}}}

    inner = {
        "id": "inner",
        "inputs": [],
        "optional_inputs": ["log"],
        "state": stated("far.away:mine"),
        "nodes": [{"id": "a", "run": "far.away:f", "provides": ["log"], "routes": [{"deliver": "log"}]}],
    }  # fmt: skip
    mapped = {"inputs": {"log": "log"}, "outputs": {"log": "log"}}
    held = {"branches": [{"name": "a", "workflow": inner, **mapped}]}
    spec = flow("parallel", held) | {"inputs": [], "optional_inputs": ["log"]}
    spec["nodes"][0]["routes"] = [{"deliver": "log"}]
    spec["state"] = stated("far.away:mine")
    assert "AF214" not in [code for code, _ in at(report_of(spec, no_import=True))]
    spec["state"] = stated("far.away:other")
    assert "AF214" in [code for code, _ in at(report_of(spec, no_import=True))]


def test_what_a_workflow_by_name_reads_is_not_said_to_be_in_vain() -> None:
    spec = flow("parallel", {"branches": [{"name": "a", "workflow": "far.away:x"}]})
    first = {"id": "first", "run": "far.away:f", "provides": ["note"], "routes": [{"to": "only"}]}
    spec["nodes"].insert(0, first)
    spec["nodes"][1]["routes"] = [{"deliver": "a"}]
    report = validate(spec, no_import=True)
    assert report.findings == ()
    assert {waiver.finding.code for waiver in report.waivers} == {"AF210", "AF212"}
