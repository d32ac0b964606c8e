"""`agentflow runs`: the runs that a store holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentflow.cli.status import ROLES, Status
from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentflow.cli.styled import Line, Span
    from agentflow.run.entries import RunInfo

__all__ = ["info_json", "runs"]


def runs(
    status: Annotated[
        Status | None, typer.Option("--status", help="Only runs of this status.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="How many to list at most, the oldest first.")
    ] = 1000,
    store: StoreOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the runs of a store, the oldest first.

    Exit code 2: there is no store, or it cannot be read.
    """
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.store import asked
    from agentflow.cli.styled import write_lines

    wanted: Any = None if status is None else status.value
    # One more than asked for tells whether there are more.
    found = asked(store, lambda opened: opened.find(status=wanted, limit=limit + 1))
    with claimed_stdout() as stdout:
        if json:
            stdout.write(_document(found[:limit], more=len(found) > limit) + "\n")
        else:
            write_lines(_lines(found[:limit], more=len(found) > limit), stdout)


def _lines(found: Sequence[RunInfo], *, more: bool) -> Iterator[Line]:
    from agentflow.cli.moment import moment
    from agentflow.cli.table import table_lines

    if not found:
        yield (("no runs", "plain"),)
        return
    due = any(info.due is not None for info in found)
    head = ["run", "workflow", "status", "created (UTC)", "written (UTC)", "records"]
    rows: list[list[Span]] = [[(text, "quiet") for text in (*head, *(["due (UTC)"] * due))]]
    for info in found:
        row: list[Span] = [
            (info.run_id, "strong"),
            (f"{info.workflow_id} {info.workflow_version}", "plain"),
            (info.status, ROLES[info.status]),
            (moment(info.created), "plain"),
            (moment(info.updated), "plain"),
            (str(info.last), "plain"),
        ]
        if due:
            row.append(("" if info.due is None else moment(info.due), "plain"))
        rows.append(row)
    yield from table_lines(rows)
    if more:
        yield (("there are more; raise --limit, or pick a --status", "quiet"),)


def _document(found: Sequence[RunInfo], *, more: bool) -> str:
    import json

    document = {"version": 1, "runs": list(map(info_json, found)), "more": more}
    return json.dumps(document, indent=2, ensure_ascii=False)


def info_json(info: RunInfo) -> dict[str, Any]:
    """What a store knows of a run, as JSON data."""
    return {
        "run_id": info.run_id,
        "workflow": {
            "id": info.workflow_id,
            "version": info.workflow_version,
            "fingerprint": info.fingerprint,
        },
        "status": info.status,
        "created": info.created.isoformat(),
        "updated": info.updated.isoformat(),
        "records": info.last,
        "due": None if info.due is None else info.due.isoformat(),
    }
