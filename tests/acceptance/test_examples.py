"""Every example runs offline and prints exactly what lies beside it as its expected output.

``examples/NAME/main.py`` has ``examples/NAME/expected.txt``; ``examples/NAME.py`` has
``examples/NAME.expected.txt``. A name that starts with ``_`` is shared code, not an example. After a deliberate
change run ``pytest tests/acceptance/test_examples.py --accept`` and read the diff.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.programs import run
from tests.house.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(
    program
    for pattern in ["*/main.py", "*.py"]
    for program in EXAMPLES.glob(pattern)
    if not program.relative_to(EXAMPLES).parts[0].startswith("_")
)


def expected_output_of(program: Path) -> Path:
    if program.parent == EXAMPLES:
        return program.with_suffix(".expected.txt")
    return program.with_name("expected.txt")


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=str(p.relative_to(EXAMPLES))) for p in PROGRAMS]
)
def test_an_example_prints_what_it_promises(program: Path, accept: bool) -> None:
    done = run([sys.executable, str(program.relative_to(ROOT))], ROOT)
    assert done.returncode == 0, f"{program.name} ends with {done.returncode}:\n{done.stdout}"
    expected = expected_output_of(program)
    if accept:
        expected.write_text(done.stdout, encoding="utf-8")
    assert expected.exists(), f"{expected.relative_to(ROOT)} is missing: run with --accept"
    assert done.stdout == expected.read_text(encoding="utf-8")


def test_there_are_examples_to_run() -> None:
    assert PROGRAMS
