"""The JSON Schema of a report, as `Report.as_json` gives it: what `schemas/finding.schema.json` holds."""

from __future__ import annotations

from typing import get_args

from agentflow.graph.codes import CODES
from agentflow.graph.findings import Severity
from agentflow.graph.json_schema import DIALECT, Data, list_of, object_of, ref, text

__all__ = ["finding_schema"]


def finding_schema() -> Data:
    """The JSON Schema (draft 2020-12) of everything the validator has to say of one definition."""
    report = _complete(
        "report",
        "Everything that `agentflow validate` has to say of one workflow.",
        {
            "workflow": text("The id of the workflow, empty where there is none."),
            "ok": {"description": "Whether it can run: there are no errors.", "type": "boolean"},
            "findings": list_of({"$ref": "#/$defs/finding"}, "The findings, errors first."),
            "waivers": list_of(
                {"$ref": "#/$defs/waiver"}, "The findings that the author has accepted."
            ),
        },
    )
    return {
        "$schema": DIALECT,
        **report,
        "$defs": {"finding": _finding(), "place": _place(), "waiver": _waiver()},
    }


def _complete(title: str, description: str, properties: Data) -> Data:
    return object_of(title, description, properties, required=tuple(properties))


def _finding() -> Data:
    properties = {
        "code": {"description": "The stable code; it fixes the severity.", "enum": list(CODES)},
        "severity": {
            "description": "`error` when a run could go wrong, `warning` for what is useless or suspicious, "
            "`info` for a fact.",
            "enum": list(get_args(Severity)),
        },
        "message": text("What is wrong, with the names concerned."),
        "hint": text("What to do about it; may be empty."),
        "workflow": text("The id of the workflow."),
        "node": {
            "description": "The id of the node concerned, if one is.",
            "type": ["string", "null"],
        },
        "place": {
            "description": "Where it was declared.",
            "anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}],
        },
        "path": list_of(
            {"type": "string"}, "The node ids of the path or cycle that is the reason, in order."
        ),
        "details": list_of(
            {"type": "string"}, "One line for each step of the path, where there is more to say."
        ),
    }
    return _complete("finding", "One thing the validator has to say.", properties)


def _place() -> Data:
    properties = {
        "file": {"description": "The file.", "type": ["string", "null"]},
        "line": {"description": "The line in it, from 1.", "type": ["integer", "null"]},
        "pointer": {
            "description": "The JSON pointer into a declarative workflow.",
            "type": ["string", "null"],
        },
    }
    return _complete("place", "A line of a file, or a place in a declarative form.", properties)


def _waiver() -> Data:
    properties = {
        "finding": ref("finding", "The finding."),
        "reason": text("Why the author accepts it."),
    }
    return _complete("waiver", "A finding that the author has accepted.", properties)
