"""What tests of definitions share: a report as text, and the line on which something was declared."""

from __future__ import annotations

import inspect
from pathlib import Path

from agentflow.graph.findings import Report

__all__ = ["at", "codes", "told"]


def at(mark: str) -> int:
    """The number of the line of the calling test's file that ends with the comment `# at: mark`."""
    lines = Path(_caller()).read_text(encoding="utf-8").splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.endswith(f"# at: {mark}")]
    assert len(found) == 1, f"{len(found)} lines are marked {mark!r}"
    return found[0]


def told(report: Report) -> str:
    """The report as text, with `here` for the calling test's file."""
    return report.as_text().replace(_caller(), "here")


def codes(report: Report) -> list[str]:
    """The codes of the findings, in their order."""
    return [finding.code for finding in report.findings]


def _caller() -> str:
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    assert frame is not None
    return frame.f_code.co_filename
