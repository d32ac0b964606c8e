"""A project folder for each test, and outputs that are compared with files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.shell import Project

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty folder, which is the working folder too; nothing outside decides about colours and paths."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR", "GITHUB_WORKSPACE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Project(tmp_path)


@pytest.fixture
def snapshot(accept: bool) -> Callable[[str, str], None]:
    """Compare a text with the file of that name in `snapshots`; `--accept` writes it."""

    def compare(name: str, text: str) -> None:
        # Run ids and times are never twice the same.
        steady = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b", "RUN-ID", text)
        steady = re.sub(r"\b\d+\.\d+ s\b", "0.0 s", steady)
        path = SNAPSHOTS / name
        if accept:
            path.write_text(steady, encoding="utf-8")
        assert path.exists(), f"{name} is missing: run with --accept and read it"
        assert steady == path.read_text(encoding="utf-8")

    return compare
