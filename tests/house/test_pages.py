"""What the pages say of the repository is so: links lead somewhere, the tree is the tree, rules are proved."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from agentflow.errors import AgentflowError
from tests.acceptance.pages import blocks_of, commands_of, pages, prints_as_shown
from tests.acceptance.programs import run
from tests.house.repository import PACKAGE, ROOT, modules

_FENCE = re.compile(r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_RULE = re.compile(r"\bR\d{3}\b")
_MARKED = re.compile(r"mark\.rule\(([^)]*)\)")
PAGES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be linked to."""
    headings = [re.sub(r"[^\w\- ]", "", found.lower()) for found in _HEADING.findall(prose(page))]
    return {heading.replace(" ", "-") for heading in headings}


def leads_nowhere(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return False
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def test_every_link_of_a_page_leads_somewhere() -> None:
    broken = {
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in _LINK.findall(prose(page))
        if leads_nowhere(page, link)
    }
    assert not broken


def test_every_page_of_docs_can_be_reached_from_its_contents() -> None:
    start = ROOT / "docs" / "index.md"
    seen, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        for link in _LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in seen:
                seen.add(target)
                waiting.append(target)
    lost = set((ROOT / "docs").rglob("*.md")) - seen
    assert not {str(page.relative_to(ROOT)) for page in lost}


def test_the_tree_of_the_architecture_page_is_the_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = text.partition("\nagentflow/\n")[2].partition("\n```")[0].splitlines()
    told: set[str] = set()
    folders: list[str] = []
    for line in lines:
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        folders[depth:] = [name.rstrip("/")] if name.endswith("/") else []
        if not name.endswith("/"):
            told.add("/".join((*folders, name)))
    found = {path.relative_to(PACKAGE).as_posix() for path in modules()}
    assert told == {path for path in found if not path.endswith("/__init__.py")}


def test_every_rule_on_the_page_of_semantics_is_proved_by_a_test() -> None:
    claimed = set(_RULE.findall((ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")))
    proved = {
        rule
        for path in (ROOT / "tests").rglob("test_*.py")
        for marks in _MARKED.findall(path.read_text(encoding="utf-8"))
        for rule in _RULE.findall(marks)
    }
    assert not claimed - proved


def test_the_readme_shows_the_demo_as_it_is() -> None:
    demo = ROOT / "examples" / "incident_triage.py"
    blocks = blocks_of(ROOT / "README.md")
    (picture,) = [block.text for block in blocks if block.info == ("mermaid",)]
    assert run(f"agentflow graph {demo}", ROOT).stdout == picture
    (shown,) = [
        command.expected
        for block in blocks
        if block.text.startswith("$ make demo")
        for command in commands_of(block)
    ]
    assert prints_as_shown(demo.with_suffix(".expected.txt").read_text(encoding="utf-8"), shown)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_yaml_on_a_page_is_yaml(page: Path) -> None:
    for block in blocks_of(page):
        if block.info[:1] == ("yaml",):
            assert isinstance(yaml.safe_load(block.text), dict), block.place


def test_every_error_stands_on_its_page_with_a_code_that_no_other_has() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    paths = [path.relative_to(ROOT).with_suffix("") for path in modules()]
    names = [".".join(path.parts) for path in paths if path.name not in ("__init__", "__main__")]
    errors = [
        each
        for name in names
        for each in vars(importlib.import_module(name)).values()
        if isinstance(each, type) and issubclass(each, AgentflowError)
        if each.__module__ == name and not each.__name__.startswith("_")
    ]
    missing = [each.__name__ for each in errors if f"| `{each.__name__}` |" not in page]
    assert not missing
    shared = [code for code, often in Counter(each.code for each in errors).items() if often > 1]
    assert not shared
