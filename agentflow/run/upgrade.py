"""Upgrades: a stored run is opened by another definition than the one it was recorded by, or is refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import IncompatibleRun
from agentflow.run.entries import Claim, Entry, RunInfo
from agentflow.run.fitting import misfit
from agentflow.run.journal import Journal
from agentflow.run.lineage import definition_data
from agentflow.run.migrate import migration_of
from agentflow.run.recorded import NOWHERE

if TYPE_CHECKING:
    from agentflow.graph.compat import Verdict
    from agentflow.graph.workflow import Workflow

__all__ = ["Judged", "judged", "upgraded"]

Written = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What becomes of one stored run under another definition.

    Args:
        run_id: The run.
        version: The version of the definition that it was last opened with.
        fingerprint: The fingerprint of that.
        verdict: `safe`, `migratable` or `breaking`.
        reason: Why it cannot go on; empty if it can.
    """

    run_id: str
    version: str
    fingerprint: str
    verdict: Verdict
    reason: str


async def judged(workflow: Workflow[Any], info: RunInfo, entries: Sequence[Entry]) -> Judged:
    """Tell what becomes of a stored run that has begun, without touching it: exactly what opening it would find out."""
    definition = Journal(NOWHERE, Claim(info.run_id, 0, info), entries).definition
    verdict: Verdict = "migratable" if _has_migration(workflow, definition) else "safe"
    reason = ""
    try:
        await upgraded(workflow, info, entries, [("resumed", {})])
    except IncompatibleRun as error:
        verdict, reason = "breaking", str(error)
    return Judged(
        run_id=info.run_id,
        version=definition["version"],
        fingerprint=definition["fingerprint"],
        verdict=verdict,
        reason=reason,
    )


async def upgraded(
    workflow: Workflow[Any], info: RunInfo, entries: Sequence[Entry], written: Written
) -> Written:
    """The entries with which a run goes on under a definition that has changed.

    Args:
        workflow: The definition.
        info: What is known of the run.
        entries: Its journal, from the latest snapshot on or whole.
        written: What is to be written when it is opened: that it was resumed, then answers.

    Raises:
        IncompatibleRun: It cannot go on; says why.
    """
    opened = [*entries, *_numbered(info, written)]
    definition = Journal(NOWHERE, Claim(info.run_id, 0, info), entries).definition
    if not _has_migration(workflow, definition):
        # Judged as it was left: an answer is one to the question as it was asked.
        await _check(workflow, info, entries, definition)
        (kind, body), *answers = written
        return [(kind, {**body, "definition": definition_data(workflow)}), *answers]
    migrated = ("migrated", migration_of(workflow, info, opened))
    await _check(workflow, info, [*opened, *_numbered(info, [migrated])], definition)
    return [*written, migrated]


def _has_migration(workflow: Workflow[Any], definition: Mapping[str, Any]) -> bool:
    version = definition["version"]
    return version != workflow.version and version in workflow.migrations


def _numbered(info: RunInfo, written: Written) -> list[Entry]:
    return [
        Entry(info.last + 1 + at, kind, json.dumps(body)) for at, (kind, body) in enumerate(written)
    ]


async def _check(
    workflow: Workflow[Any],
    info: RunInfo,
    entries: Sequence[Entry],
    definition: Mapping[str, Any],
) -> None:
    reason = await misfit(workflow, info, entries)
    if reason is None:
        return
    version = definition["version"]
    if _has_migration(workflow, definition):
        told = f"not even by its migration from version {version!r}"
        advice = "change the migration"
    else:
        told = f"which was last opened with version {version!r} of another definition"
        advice = f"let that one finish it, or give this one another version and migrations={{{version!r}: …}}"
    raise IncompatibleRun(
        f"run {info.run_id!r} cannot go on under this definition of workflow {workflow.id!r}, {told}: {reason}; {advice}"
    )
