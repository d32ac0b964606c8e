"""The generated pages: every code has a bad and a good example, and the pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentflow.errors
from agentflow import AgentflowError
from agentflow.graph.codes import CODES
from agentflow.run.facts import FACT_KINDS
from scripts import docs

_CODE = re.compile(r"\b(?:error|warning|info)\b(?: |\[)(AF\d+)\b")
ENTRIES = [code for code in CODES if docs.example_of(code, "bad") and docs.example_of(code, "good")]


def test_every_code_has_a_bad_and_a_good_example() -> None:
    assert docs.missing() == []


def test_what_is_missing_is_told_with_what_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "EXAMPLES", Path("nowhere"))
    bad, good = docs.missing()[:2]
    assert bad == (
        "AF001 has no bad example: add docs/findings/AF001_bad.py (or .yaml, .json), "
        "a small complete program that has this finding and no other"
    )
    assert good == (
        "AF001 has no good example: add docs/findings/AF001_good.py (or .yaml, .json), "
        "the same program mended, without any finding"
    )


@pytest.mark.parametrize("code", ENTRIES)
def test_a_bad_example_has_its_finding_before_any_other(code: str) -> None:
    example = docs.example_of(code, "bad")
    assert example is not None
    ended, printed = docs.output_of(example)
    found = _CODE.findall(printed)
    assert found[:1] == [code], printed
    if example.command.startswith("agentflow"):
        expected = 2 if code.startswith("AF0") else 1 if CODES[code].severity == "error" else 0
        assert ended == expected, printed


@pytest.mark.parametrize("code", ENTRIES)
def test_a_good_example_has_no_finding_at_all(code: str) -> None:
    example = docs.example_of(code, "good")
    assert example is not None
    ended, printed = docs.output_of(example)
    assert ended == 0, printed
    assert "no findings" in printed
    assert not _CODE.findall(printed)


def test_every_file_of_the_examples_belongs_to_a_code() -> None:
    used = {
        file
        for code in CODES
        for form in ("bad", "good")
        if (example := docs.example_of(code, form))
        for file in example.files
    }
    present = {path for path in docs.EXAMPLES.iterdir() if path.is_file()}
    assert present - used == {docs.EXAMPLES / "faq.py"}


def test_the_pages_are_what_the_code_says() -> None:
    assert docs.differences() == "", "run make docs"


def test_a_page_that_is_not_what_the_code_says_is_shown_as_a_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "PAGES", {"facts.md": docs.facts_page})
    (tmp_path / "facts.md").write_text(docs.facts_page().replace("node.started", "node.begun"))
    changed = docs.differences(tmp_path)
    assert "-| `node.begun` |" in changed
    assert "+| `node.started` |" in changed


def test_every_kind_of_fact_is_on_its_page() -> None:
    page = docs.facts_page()
    assert [kind for kind in FACT_KINDS if f"\n| `{kind}` | {FACT_KINDS[kind]} |" not in page] == []


def test_every_error_is_on_its_page_and_in_the_tree() -> None:
    page = docs.errors_page()
    tree = page.partition("```text\n")[2].partition("```")[0]
    for name in agentflow.errors.__all__:
        error = getattr(agentflow.errors, name)
        assert f"| `{name}` | `{error.code}` |" in page
        assert len(re.findall(rf"\b{name}\b", tree)) == 1, name
        assert tree.splitlines()[0] == "AgentflowError"


def test_every_error_has_a_code_of_its_own() -> None:
    errors: list[type[AgentflowError]] = [
        getattr(agentflow.errors, name) for name in agentflow.errors.__all__
    ]
    assert len({error.code for error in errors}) == len(errors)
    assert all(re.fullmatch("[a-z_]+", error.code) for error in errors)


def test_codes_are_sorted_and_say_what_and_why() -> None:
    assert list(CODES) == sorted(CODES)
    for code, entry in CODES.items():
        assert entry.code == code
        assert re.fullmatch(r"AF\d{3}", code)
        assert entry.severity in ("error", "warning", "info")
        assert not entry.title.endswith(".")
        assert entry.reason.endswith(".")
