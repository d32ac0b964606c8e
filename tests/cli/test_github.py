"""Annotations for GitHub Actions: what they promise to the runner that reads them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.cli.formats.github import github_lines
from agentflow.graph.findings import Finding, Report, Waiver
from agentflow.graph.place import Place
from tests.cli.flows import BROKEN
from tests.cli.shell import Project


def test_waived_findings_are_left_out_for_github() -> None:
    finding = Finding(code="AF210", message="m", workflow="w", place=Place("f.py", 1))
    waived = Examination((Report("w", (), (Waiver(finding, "known"),)),))
    assert list(github_lines(waived, Sources(Path()))) == []


@pytest.mark.parametrize(
    ("code", "command"), [("AF106", "error"), ("AF210", "warning"), ("AF404", "notice")]
)
def test_severities_have_their_names_for_github(code: str, command: str) -> None:
    found = Examination((Report("w", (Finding(code=code, message="m", workflow="w"),)),))
    lines = list(github_lines(found, Sources(Path())))
    assert lines == [f"::{command} title=agentflow {code}::m"]


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
