"""The tools of the triage: each reads the files of the incident, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from agentflow import tool

__all__ = ["DATA", "changes", "error_rate", "search_log", "trace"]

DATA = Path(__file__).parents[1] / "data"


def lines(name: str) -> Iterator[str]:
    """The lines of one of the data files."""
    return iter((DATA / name).read_text(encoding="ascii").splitlines())


def access_log() -> Iterator[tuple[datetime, str, int, str]]:
    """Time, request, status and request id of every request."""
    form = re.compile(r'\[(.+?)\] "(\S+ \S+) .*?" (\d+) .* request_id=(\w+)$')
    for line in lines("access.log"):
        if match := form.search(line):
            at = datetime.strptime(match[1], "%d/%b/%Y:%H:%M:%S %z")
            yield at, match[2], int(match[3]), match[4]


@tool(kind="read")
def error_rate(endpoint: str, start: datetime, end: datetime) -> str:
    """Count the requests to an endpoint, and how many were answered with a server error.

    Args:
        endpoint: Method and path, as in "POST /checkout".
        start: The first moment that counts.
        end: The first moment that does not.
    """
    found = [
        status for at, what, status, _ in access_log() if what == endpoint and start <= at < end
    ]
    failed = sum(status >= 500 for status in found)
    share = 100 * failed / len(found) if found else 0
    return f"{failed} of {len(found)} failed ({share:.0f} %)"


@tool(kind="read")
def search_log(text: str, start: datetime, end: datetime) -> str:
    """Find lines of the application log that contain a text; the first three, and how many there are."""
    found = [
        line
        for line in lines("app.log")
        if text in line and start <= datetime.fromisoformat(line.split(" ", 1)[0]) < end
    ]
    return "\n".join([f"{len(found)} lines", *found[:3]])


@tool(kind="read")
def trace(request_id: str) -> str:
    """Follow one request through both logs."""
    found = [line for line in lines("app.log") if f"request_id={request_id} " in line]
    if not found:
        raise LookupError(f"no request has the id {request_id!r}")
    answers = [
        f"answered {status}: {what}" for _, what, status, id in access_log() if id == request_id
    ]
    return "\n".join([*found, *answers])


@tool(kind="read")
def changes(service: str, start: datetime, end: datetime) -> str:
    """List what was changed in production for a service."""
    found = [json.loads(line) for line in lines("deploys.jsonl")]
    return "\n".join(
        f"{change['id']} {change['at']} {change['kind']}: {change.get('key', change.get('version'))} "
        f"{change.get('old', change.get('previous'))} -> {change.get('new', change.get('version'))}"
        for change in found
        if change["env"] == "production"
        and change["service"] == service
        and start <= datetime.fromisoformat(change["at"]) < end
    )
