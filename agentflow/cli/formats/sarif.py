"""Findings as SARIF 2.1.0, the format in which code hosts and editors take the results of analysers.

The OASIS standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/. Code hosts take less than it allows: one result without a
file makes them refuse the whole log. So what is about no file is told as a notification of the invocation.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import agentflow
from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Sources
from agentflow.cli.reference import examples, page
from agentflow.graph.codes import CODES, Code
from agentflow.graph.findings import Finding, Severity, Waiver

__all__ = ["sarif_text"]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_NUMBERS = {code: number for number, code in enumerate(CODES)}
"""The place of each rule in the list of them."""


def sarif_text(examination: Examination, sources: Sources) -> str:
    """A log of one run: every code as a rule, every finding in a file as a result, waived ones as suppressed results."""
    told: list[Finding | Waiver] = [*examination.findings, *examination.waivers]
    reference = page() or ""
    driver = {
        "name": "agentflow",
        "semanticVersion": agentflow.__version__,
        "rules": [_rule(code, reference) for code in CODES.values()],
    }
    invocation: dict[str, Any] = {
        "executionSuccessful": examination.exit_code(strict=False) != 2,
        "toolExecutionNotifications": [_notification(one) for one in told if not _has_file(one)],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(one, examination, sources) for one in told if _has_file(one)],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _rule(code: Code, reference: str) -> dict[str, Any]:
    level = _LEVELS[code.severity]
    shown = examples(reference, code.code) or f"`agentflow explain {code.code}` tells more."
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.title.replace("-", " ").split()),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.reason},
        "help": {
            "text": f"{code.title}\n\n{code.reason}\n\nagentflow explain {code.code}",
            "markdown": f"**{code.title}**\n\n{code.reason}\n\n{shown}",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["workflow"],
            "problem.severity": level.replace("note", "recommendation"),
        },
    }


def _finding(one: Finding | Waiver) -> Finding:
    return one.finding if isinstance(one, Waiver) else one


def _has_file(one: Finding | Waiver) -> bool:
    place = _finding(one).place
    return place is not None and place.file is not None


def _notification(one: Finding | Waiver) -> dict[str, Any]:
    finding = _finding(one)
    text = _message(finding)
    return {
        "associatedRule": {"id": finding.code, "index": _NUMBERS[finding.code]},
        "level": "none" if isinstance(one, Waiver) else _LEVELS[finding.severity],
        "message": {"text": f"{text}\nWaived: {one.reason}" if isinstance(one, Waiver) else text},
    }


def _result(one: Finding | Waiver, examination: Examination, sources: Sources) -> dict[str, Any]:
    finding = _finding(one)
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": _NUMBERS[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, sources)],
        "partialFingerprints": {"agentflow/v1": _fingerprint(finding)},
        # All results of a run say whether they are suppressed, or none does.
        "suppressions": [],
    }
    if isinstance(one, Waiver):
        accepted = {"kind": "inSource", "status": "accepted", "justification": one.reason}
        result["suppressions"].append(accepted)
    steps = list(_steps(finding, examination, sources))
    if steps and all("physicalLocation" in step["location"] for step in steps):
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _message(finding: Finding) -> str:
    parts = [finding.message]
    if finding.path:
        parts.append(f"Path: {' -> '.join(finding.path)}")
    parts.extend(finding.details)
    if finding.hint:
        parts.append(f"Hint: {finding.hint}")
    return "\n".join(parts)


def _steps(
    finding: Finding, examination: Examination, sources: Sources
) -> Iterator[dict[str, Any]]:
    """Each step of the path, for a reader who wants to follow it through the files."""
    for step in finding.path:
        visited = Finding(
            code=finding.code,
            message="",
            workflow=finding.workflow,
            node=step,
            place=examination.place_of(finding, step),
        )
        yield {"location": {**_location(visited, sources), "message": {"text": f"visits {step}"}}}


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
    # As bytes, since a file's name need be no text.
    return {"uri": quote(os.fsencode(path.as_posix())), "uriBaseId": "%SRCROOT%"}


def _fingerprint(finding: Finding) -> str:
    """The same for the same finding after lines have moved."""
    parts = (finding.code, finding.workflow, finding.node or "", finding.message)
    told = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.sha256(told).hexdigest()[:32]
