"""Types: what a strict checker makes of a definition."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.repository import ROOT

SAMPLE = Path(__file__).with_name("typed_sample.py")
WRONG = """
from agentflow import define_workflow, node, route

@node(provides=["a"], routes=[route.deliver("a")])
def full(state): ...

text = define_workflow("text", nodes=[full], result=str)
number: int = text.run_sync({})  # wrong
node(5)  # wrong
node(len, ident="x")  # wrong
define_workflow("w", nodes=[full], max_round=3)  # wrong
"""


def mypy(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *options, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_workflow_is_typed_by_its_result() -> None:
    done = mypy(SAMPLE)
    assert done.returncode == 0, done.stdout


def test_what_a_checker_can_see_it_refuses(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WRONG, encoding="utf-8")
    done = mypy(program, "--allow-untyped-defs", "--no-pretty")
    refused = {line.split(":")[1] for line in done.stdout.splitlines() if ": error: " in line}
    wrong = {
        str(number) for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")
    }
    assert refused == wrong, done.stdout
