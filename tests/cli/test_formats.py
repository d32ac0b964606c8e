"""The formats for programs: what they promise to those who read them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, strategies as st

from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.cli.formats.github import github_lines
from agentflow.cli.formats.sarif import sarif_text
from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding, Report, Waiver
from agentflow.graph.place import Place
from tests.cli.flows import BROKEN, SOUND
from tests.cli.shell import Project

_TEXT = {"type": "string", "minLength": 1}
_COUNT = {"type": "integer", "minimum": 1}
_MESSAGE = {"type": "object", "properties": {"text": _TEXT, "markdown": _TEXT}, "required": ["text"], "additionalProperties": False}  # fmt: skip


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}  # fmt: skip


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = _object(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=_list(
        _object(
            ["tool", "results"],
            tool=_object(
                ["driver"],
                driver=_object(
                    ["name"],
                    name=_TEXT,
                    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
                    rules=_list(
                        _object(
                            ["id"],
                            id=_TEXT,
                            name=_TEXT,
                            shortDescription=_MESSAGE,
                            fullDescription=_MESSAGE,
                            help=_MESSAGE,
                            defaultConfiguration=_object([], level=_LEVEL),
                            properties={"type": "object"},
                        ),
                        uniqueItems=True,
                    ),
                ),
            ),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            invocations=_list(_object(["executionSuccessful"], executionSuccessful={"type": "boolean"})),
            results=_list(
                _object(
                    ["message", "ruleId", "suppressions"],
                    ruleId=_TEXT,
                    ruleIndex={"type": "integer", "minimum": 0},
                    level=_LEVEL,
                    message=_MESSAGE,
                    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
                    suppressions=_list(
                        _object(
                            ["kind"],
                            kind={"enum": ["inSource", "external"]},
                            status={"enum": ["accepted", "underReview", "rejected"]},
                            justification=_TEXT,
                        )
                    ),
                    locations=_list(
                        _object(
                            [],
                            physicalLocation=_object(
                                ["artifactLocation"],
                                artifactLocation=_object(
                                    ["uri"],
                                    uri={"type": "string", "format": "uri-reference"},
                                    uriBaseId=_TEXT,
                                ),
                                region=_object(
                                    ["startLine"], startLine=_COUNT, startColumn=_COUNT, endColumn=_COUNT
                                ),
                            ),
                            logicalLocations=_list(
                                _object(["name"], name=_TEXT, fullyQualifiedName=_TEXT, kind=_TEXT)
                            ),
                        )
                    ),
                )
            ),
        ),
        minItems=1,
    ),
)  # fmt: skip
"""The part of SARIF 2.1.0 that is written here, without room for anything else."""
VALID = jsonschema.Draft202012Validator(SARIF)


def sarif(project: Project, *arguments: str) -> dict[str, Any]:
    ended = project.agentflow("validate", "--format", "sarif", *arguments)
    document: dict[str, Any] = json.loads(ended.out)
    VALID.validate(document)
    return document["runs"][0]  # type: ignore[no-any-return]


def test_sarif_has_every_code_as_a_rule_with_help(project: Project) -> None:
    project.write("flow.py", SOUND)
    run = sarif(project, "flow.py")
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    assert all(CODES[rule["id"]].reason in rule["help"]["markdown"] for rule in rules)
    assert (run["results"], run["invocations"]) == ([], [{"executionSuccessful": True}])


def test_sarif_points_at_the_very_words_by_paths_from_the_root(
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
    assert results[0]["level"] == "error"
    assert CODES[results[0]["ruleId"]] is list(CODES.values())[results[0]["ruleIndex"]]


def test_a_finding_keeps_its_sarif_fingerprint_when_lines_move(project: Project) -> None:
    project.write("flow.py", BROKEN)
    before = sarif(project, "flow.py")["results"]
    project.write("flow.py", "# moved\n\n\n" + BROKEN)
    after = sarif(project, "flow.py")["results"]
    fingerprints = [result["partialFingerprints"] for result in before]
    assert [result["partialFingerprints"] for result in after] == fingerprints
    assert before != after


def test_waived_findings_are_suppressed_in_sarif_and_left_out_for_github() -> None:
    finding = Finding(code="AF210", message="m", workflow="w", place=Place("f.py", 1))
    waived = Examination((Report("w", (), (Waiver(finding, "known"),)),))
    sources = Sources(Path())
    log = json.loads(sarif_text(waived, sources))
    VALID.validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "known"}
    ]
    assert list(github_lines(waived, sources)) == []


def test_a_target_that_cannot_be_read_is_no_successful_execution(project: Project) -> None:
    run = sarif(project, "nowhere.py")
    assert run["invocations"] == [{"executionSuccessful": False}]
    assert "locations" not in run["results"][0]


@pytest.mark.parametrize(
    ("code", "command", "level"),
    [("AF106", "error", "error"), ("AF210", "warning", "warning"), ("AF404", "notice", "note")],
)
def test_severities_have_their_names_in_each_format(code: str, command: str, level: str) -> None:
    found = Examination((Report("w", (Finding(code=code, message="m", workflow="w"),)),))
    sources = Sources(Path())
    assert list(github_lines(found, sources)) == [f"::{command} title=agentflow {code}::m"]
    (result,) = json.loads(sarif_text(found, sources))["runs"][0]["results"]
    assert result["level"] == level


def test_annotations_name_file_line_and_columns(project: Project) -> None:
    project.write("flow.py", BROKEN)
    ended = project.agentflow("validate", "flow.py", "--format", "github", "--select", "AF106")
    assert ended.code == 1
    assert ended.out == (
        "::error file=flow.py,line=13,col=33,endColumn=38,title=agentflow AF106::"
        "node 'look_up' routes to 'repl', which is no node%0Ahint: did you mean 'reply'?\n"
    )


@given(st.text(), st.text(), st.text(min_size=1))
@example("a::b\r\n,%0A", "%25", "a::b,c%3A\n.py")
def test_an_annotation_is_one_line_that_reads_back_as_it_was_meant(
    message: str, hint: str, file: str
) -> None:
    finding = Finding(code="AF106", message=message, hint=hint, place=Place(file, 3))
    (line,) = github_lines(Examination((Report("w", (finding,)),)), Sources(Path()))
    assert "\n" not in line
    assert "\r" not in line
    command, properties, text = re.fullmatch(r"::(\w+) (.*?)::(.*)", line, re.DOTALL).groups()  # type: ignore[union-attr]
    read = dict(part.split("=", 1) for part in properties.split(","))
    assert command == "error"
    assert _meant(read["file"]) == file.replace("\\", "/")
    assert _meant(text) == (f"{message}\nhint: {hint}" if hint else message)


def _meant(text: str) -> str:
    return re.sub("%(25|0D|0A|3A|2C)", lambda match: chr(int(match[1], 16)), text)


@given(
    st.text(), st.text(), st.lists(st.text(), max_size=2).map(tuple), st.text(min_size=1),
    st.none() | st.integers(1, 99), st.none() | st.text(),
)  # fmt: skip
def test_whatever_a_finding_says_sarif_stays_valid(
    message: str, hint: str, path: tuple[str, ...], file: str, line: int | None, pointer: str | None
) -> None:
    place = Place(file, line, pointer)
    finding = Finding(code="AF106", message=message or "m", hint=hint, path=path, place=place)
    log = json.loads(sarif_text(Examination((Report("w", (finding,)),)), Sources(Path())))
    # They are always the same, and take most of the time.
    del log["runs"][0]["tool"]["driver"]["rules"]
    VALID.validate(log)
