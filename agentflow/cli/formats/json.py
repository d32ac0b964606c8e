"""Findings as one JSON document for programs; its shape is stable, and `version` tells when it is not."""

from __future__ import annotations

import json

from agentflow.cli.examination import Examination
from agentflow.cli.formats.bounds import bounds_json

__all__ = ["VERSION", "json_text"]

VERSION = 1


def json_text(examination: Examination, *, strict: bool, bounds: bool = False) -> str:
    """The document: counts of all findings, and the reports that hold them; the worst cases too if `bounds`."""
    document = {
        "version": VERSION,
        "exit_code": examination.exit_code(strict=strict),
        "workflows": examination.workflows,
        "counts": examination.counts(),
        "reports": [report.as_json() for report in examination.reports],
        **({"bounds": bounds_json(examination)} if bounds else {}),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
