"""Small rooms: each file tells its promise, and no file or function outgrows a reader."""

from __future__ import annotations

import ast
import re

import pytest

from tests.house.repository import PACKAGE, ROOT, modules, text_files

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
VAGUE = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}
FRAGMENT = re.compile(
    r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|deprecated|removed|fixed|security)\.md"
)


def test_every_module_says_what_it_promises() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_no_module_outgrows_its_room() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules()
    }
    assert not {path: length for path, length in lengths.items() if length >= LONGEST_FILE}


def test_no_function_outgrows_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": lines
        for path in modules()
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := _lines_of_code(function)) >= LONGEST_FUNCTION
    }
    assert not long


def _lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    # A docstring and a long list of options are there to be read; they are no complexity.
    first = function.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = function.body[1:] if has_docstring else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_every_module_is_named_by_what_it_is() -> None:
    assert not [path for path in modules() if path.stem in VAGUE]


def test_the_package_ships_its_types() -> None:
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("place", ["/tmp/", "/root/", "/home/"])
def test_no_file_names_a_place_of_one_machine(place: str) -> None:
    named = [str(path) for path, text in text_files() if path.parts[0] != "tests" and place in text]
    assert not named


def test_every_changelog_fragment_tells_its_kind() -> None:
    fragments = [path.name for path in (ROOT / "changelog.d").glob("*") if path.name != "README.md"]
    assert not [name for name in fragments if not FRAGMENT.fullmatch(name)]
