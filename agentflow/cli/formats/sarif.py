"""Findings as SARIF 2.1.0, the format in which code hosts and editors take the results of analysers."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import agentflow
from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.graph.codes import CODES, Code
from agentflow.graph.findings import Finding, Severity

__all__ = ["sarif_text"]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def sarif_text(examination: Examination, sources: Sources) -> str:
    """A log of one run: every code as a rule, every finding as a result, waived ones as suppressed results."""
    rules = list(CODES)
    results = [
        *(_result(finding, sources, rules, None) for finding in examination.findings),
        *(_result(waiver.finding, sources, rules, waiver.reason) for waiver in examination.waivers),
    ]
    driver = {
        "name": "agentflow",
        "semanticVersion": agentflow.__version__,
        "rules": [_rule(code) for code in CODES.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": examination.exit_code(strict=False) != 2}],
        "results": results,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _rule(code: Code) -> dict[str, Any]:
    level = _LEVELS[code.severity]
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.title.replace("-", " ").split()),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.reason},
        "help": {
            "text": f"{code.title}\n\n{code.reason}\n\nagentflow explain {code.code}",
            "markdown": f"**{code.title}**\n\n{code.reason}\n\n`agentflow explain {code.code}` tells more.",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["workflow"],
            "problem.severity": level.replace("note", "recommendation"),
        },
    }


def _result(
    finding: Finding, sources: Sources, rules: list[str], waived: str | None
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "partialFingerprints": {"agentflow/v1": _fingerprint(finding)},
        # All results of a run say whether they are suppressed, or none does.
        "suppressions": []
        if waived is None
        else [{"kind": "inSource", "status": "accepted", "justification": waived}],
    }
    location = _location(finding, sources)
    if location:
        result["locations"] = [location]
    return result


def _message(finding: Finding) -> str:
    parts = [finding.message]
    if finding.path:
        parts.append(f"Path: {' -> '.join(finding.path)}")
    parts.extend(finding.details)
    if finding.hint:
        parts.append(f"Hint: {finding.hint}")
    return "\n".join(parts)


def _location(finding: Finding, sources: Sources) -> dict[str, Any]:
    location: dict[str, Any] = {}
    place = finding.place
    if place is not None and place.file is not None:
        physical: dict[str, Any] = {"artifactLocation": _artifact(place.file)}
        shown = sources.excerpt(finding)
        if shown is not None:
            mark = shown.mark
            physical["region"] = {
                "startLine": mark.line,
                "startColumn": mark.start + 1,
                "endColumn": mark.end + 1,
            }
        elif place.line is not None:
            physical["region"] = {"startLine": place.line}
        location["physicalLocation"] = physical
    if finding.workflow:
        name = finding.node or finding.workflow
        full = f"{finding.workflow}/{finding.node}" if finding.node else finding.workflow
        logical = {
            "name": name,
            "fullyQualifiedName": full,
            "kind": "function" if finding.node else "module",
        }
        location["logicalLocations"] = [logical]
    return location


def _artifact(file: str) -> dict[str, str]:
    path = PurePath(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}


def _fingerprint(finding: Finding) -> str:
    """The same for the same finding after lines have moved."""
    parts = (finding.code, finding.workflow, finding.node or "", finding.message)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
