"""Which part of a file is underlined for a finding."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentflow.cli.excerpt import Sources
from agentflow.cli.spec_file import position
from agentflow.graph.findings import Finding
from agentflow.graph.place import Place
from tests.cli.shell import Project


@pytest.mark.parametrize(
    ("text", "declared", "message", "node", "words"),
    [
        ("x = to('a'), to('b')", 1, "node 'a' goes to 'b'", "a", "1 'b'"),
        ("x = to('service.status')", 1, "names the field 'service'", None, "1 'service.status'"),
        ("x = flow(\n  1,\n  max_rounds=0,\n)", 1, "max_rounds=0 is none", None, "3 max_rounds=0"),
        ("@node(uses=[])\nasync  def work(s): ...", 1, "node 'work' is alone", "work", "2 work"),
        ("@other\n@node\ndef work(s): ...", 2, "node 'work' is alone", "work", "3 work"),
        ("x = node(f, id='work')", 1, "node 'work' is alone", "work", "1 'work'"),
        ("# ü\nx = to('ü', 'b')", 2, "goes to 'b'", None, "2 'b'"),
        ("x = [\n  1]", 1, "something else", None, "1 x = ["),
        ("if True:\n    x = 1  # why", 2, "something else", None, "2 x = 1  # why"),
        ("x = (", 1, "something else", None, "1 x = ("),
    ],
)
def test_the_words_that_the_message_speaks_of_are_underlined(
    project: Project, text: str, declared: int, message: str, node: str | None, words: str
) -> None:
    project.write("f.py", text + "\n")
    place = Place("f.py", declared)
    finding = Finding(code="AF106", message=message, workflow="flow", node=node, place=place)
    shown = Sources(project.folder).excerpt(finding)
    assert shown is not None
    assert shown.first == declared
    assert f"{shown.mark.line} {shown.lines[-1][shown.mark.start : shown.mark.end]}" == words


@pytest.mark.parametrize("place", [None, Place("nowhere.py", 1), Place("f.py", 99), Place("f.py"), Place("f.py", 0), Place("bytes.py", 1)])  # fmt: skip
def test_nothing_is_shown_of_a_file_or_line_that_is_not_there(
    project: Project, place: Place | None
) -> None:
    project.write("f.py", "x = 1\n")
    (project.folder / "bytes.py").write_bytes(b"\xff\xfe\x00")
    finding = Finding(code="AF106", message="m", place=place)
    assert Sources(project.folder).excerpt(finding) is None


SPEC = """{
  "id": "flow",
  "nodes": [
    {"id": "a/b", "routes": [{"to": "c"}]},
    {"id": "d"}
  ]
}"""


@pytest.mark.parametrize(
    ("pointer", "spoken", "words"),
    [
        ("/id", (), '"id": "flow"'),
        ("/nodes/0/routes/0/to", (), '"to": "c"'),
        ("/nodes/0/routes/0", ("c",), '"c"'),
        ("/nodes/0", ("zzz", "a/b"), '"a/b"'),
        ("/nodes/1", (), '{"id": "d"}'),
        ("/nodes/1/routes", (), '{"id": "d"}'),
        ("/nodes/7", (), '"nodes": ['),
        ("", (), "{"),
    ],
)
def test_a_json_pointer_leads_to_its_line_and_columns(
    pointer: str, spoken: tuple[str, ...], words: str
) -> None:
    found = position(SPEC, pointer, spoken)
    assert found is not None
    line, start, end = found
    assert SPEC.split("\n")[line - 1][start:end] == words


def test_aliases_that_stand_for_more_values_than_there_are_atoms_keep_nobody() -> None:
    levels = "".join(f"k{at}: &k{at} [{f'*k{at - 1}, ' * 9}]\n" for at in range(1, 90))
    found = position(f"k0: &k0 [x]\n{levels}", "/k89", ("nowhere",))
    assert found is not None
    assert found[:2] == (90, 0)


def test_an_alias_that_leads_into_itself_is_followed_once() -> None:
    assert position("a: &a [*a, b]\n", "/a", ("b",)) == (1, 11, 12)


@given(st.text(), st.text())
def test_any_text_and_any_pointer_give_a_place_or_none(text: str, pointer: str) -> None:
    found = position(text, pointer)
    assert found is None or (found[0] >= 1 and 0 <= found[1] < found[2])
