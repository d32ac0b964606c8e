"""Exported runs: everything that a store holds of one, in one document that needs no store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, get_args

import anyio

from agentflow.errors import RunConflict, SpecError
from agentflow.graph.json_schema import DIALECT, Data
from agentflow.run.entries import Claim, Entry, NewRun, RunInfo, StoredStatus

if TYPE_CHECKING:
    from agentflow.run.ports import Store

__all__ = ["VERSION", "adopt", "exported", "exported_run_schema", "imported"]

VERSION: Final = 1
"""The version of the form."""

_TEXTS: Final = ("run_id", "workflow_id", "workflow_version", "fingerprint", "status")
_TIMES: Final = ("created", "updated")


def exported(info: RunInfo, entries: Sequence[Entry]) -> dict[str, Any]:
    """The document of a run: what is known of it, and its records, values in their stored form."""
    return {
        "version": VERSION,
        **{name: getattr(info, name) for name in _TEXTS},
        **{name: getattr(info, name).isoformat() for name in _TIMES},
        "records": [
            {"number": entry.number, "kind": entry.kind, "data": json.loads(entry.body)}
            for entry in entries
        ],
    }


def imported(document: object) -> tuple[RunInfo, list[Entry]]:
    """The run of a document.

    Raises:
        SpecError: It is no exported run, or one of a newer version.
    """
    import jsonschema

    version = document.get("version") if isinstance(document, Mapping) else None
    if isinstance(version, int) and version > VERSION:
        raise SpecError(
            f"the run was exported by a newer version, in form {version}; this one reads {VERSION}",
            hint="replay it with the version that has written it, or a newer one",
        )
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(exported_run_schema()).iter_errors(document)
    )
    if error is not None:
        pointer = "".join(f"/{part}" for part in error.absolute_path)
        raise SpecError(
            f"it is no exported run: {error.message}",
            pointer=pointer,
            hint="`agentflow export RUN` writes one",
        )
    assert isinstance(document, Mapping)
    records = document["records"]
    for at, record in enumerate(records, 1):
        if record["number"] != at:
            raise SpecError(
                f"record {record['number']} stands where {at} should be: something is missing",
                pointer=f"/records/{at - 1}/number",
                hint="export the run again",
            )
    entries = [
        Entry(record["number"], record["kind"], json.dumps(record["data"])) for record in records
    ]
    info = RunInfo(
        **{name: document[name] for name in _TEXTS},
        created=datetime.fromisoformat(document["created"]),
        updated=datetime.fromisoformat(document["updated"]),
        last=len(entries),
    )
    return info, entries


def exported_run_schema() -> Data:
    """The JSON Schema (draft 2020-12) of an exported run."""
    text = {"type": "string"}
    time = {"type": "string", "format": "date-time"}
    return {
        "$schema": DIALECT,
        "title": "Exported run",
        "description": "A run of agentflow with everything that was recorded of it.",
        "type": "object",
        "properties": {
            "version": {"description": "The version of this form.", "const": VERSION},
            "run_id": {"description": "The id of the run.", **text},
            "workflow_id": {"description": "The workflow that it is a run of.", **text},
            "workflow_version": {"description": "The version that it was started with.", **text},
            "fingerprint": {"description": "The fingerprint of that definition.", **text},
            "status": {
                "description": "What the run was when it was exported.",
                "enum": list(get_args(StoredStatus)),
            },
            "created": {"description": "When it was made.", **time},
            "updated": {"description": "When its last record was written.", **time},
            "records": {
                "description": "What happened, in order.",
                "type": "array",
                "minItems": 1,
                "prefixItems": [{"properties": {"kind": {"const": "started"}}}],
                "items": {"$ref": "#/$defs/record"},
            },
        },
        "required": ["version", *_TEXTS, *_TIMES, "records"],
        "additionalProperties": False,
        "$defs": {"record": _record_schema()},
    }


def _record_schema() -> Data:
    return {
        "description": "One thing that happened.",
        "type": "object",
        "properties": {
            "number": {
                "description": "Its number, from 1 without gaps.",
                "type": "integer",
                "minimum": 1,
            },
            "kind": {"description": "What kind of thing.", "type": "string"},
            "data": {
                "description": "What is recorded of it, values in their stored form.",
                "type": "object",
            },
        },
        "required": ["number", "kind", "data"],
        "additionalProperties": False,
    }


async def adopt(store: Store, info: RunInfo, entries: Sequence[Entry]) -> None:
    """Put a run that was exported into a store, where nobody drives it.

    Raises:
        RunConflict: The store has a run of that id.
    """
    new = NewRun(
        workflow_id=info.workflow_id,
        workflow_version=info.workflow_version,
        fingerprint=info.fingerprint,
        created=info.created,
    )
    with anyio.CancelScope(shield=True):
        claim = await store.claim(info.run_id, new=new)
        if not isinstance(claim, Claim) or claim.info.last:
            raise RunConflict(f"the store has a run {info.run_id!r} already")
        status = "interrupted" if info.status == "running" else info.status
        await store.append(claim, entries, status=status)
