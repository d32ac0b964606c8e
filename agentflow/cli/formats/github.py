"""Findings as workflow commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.graph.findings import Finding, Severity

__all__ = ["github_lines"]

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def github_lines(examination: Examination, sources: Sources) -> Iterator[str]:
    """One command for each finding that is not waived."""
    return (_command(finding, sources) for finding in examination.findings)


def _command(finding: Finding, sources: Sources) -> str:
    properties: dict[str, object] = {}
    place, shown = finding.place, sources.excerpt(finding)
    if place is not None and place.file is not None:
        properties["file"] = place.file.replace("\\", "/")
        line = place.line if shown is None else shown.mark.line
        if line is not None:
            properties["line"] = line
        if shown is not None and shown.mark.end > shown.mark.start:
            properties |= {"col": shown.mark.start + 1, "endColumn": shown.mark.end}
    properties["title"] = f"agentflow {finding.code}"
    told = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {told}::{_message(_text(finding))}"


def _text(finding: Finding) -> str:
    lines = [finding.message]
    if finding.path:
        lines.append(f"path: {' -> '.join(finding.path)}")
    lines.extend(finding.details)
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    return "\n".join(lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
