"""What happened in a stored run, record by record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.cli.stored_value import fields_text, value_text
from agentflow.cli.styled import Line, Role, Span
from agentflow.cli.table import table_lines

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan
    from agentflow.run.archive import JournalRecord

__all__ = ["place_text", "timeline"]

_ROLES: Mapping[str, Role] = {"failed": "error", "attempt": "warning", "suspended": "warning"}


def timeline(
    run_id: str, records: Sequence[JournalRecord], plan: Plan | None = None, *, room: int | None
) -> Iterator[Line]:
    """A line for each record: its number, its kind, the visit that it is about, and what it says.

    Args:
        run_id: The run.
        records: All of its records.
        plan: The definition of today; without it the targets of routes are known only by what came next.
        room: How many characters of a value are shown; `None` for all.
    """
    asked: dict[str, str] = {}
    rows: list[list[Span]] = []
    for at, record in enumerate(records):
        if record.kind == "suspended":
            asked |= {data["id"]: data["key"] for data in record.data["requests"]}
        told = _told(run_id, record, asked, room)
        role = _ROLES.get(record.kind, "plain")
        if record.kind in ("visit", "failed"):
            told += _onward(run_id, record, records[at + 1 :], plan)
        rows.append(
            [
                (f"{record.number:>4}", "quiet"),
                (record.kind, role),
                (place_text(record), "strong"),
                (told, "plain"),
            ]
        )
    return table_lines(rows)


def place_text(record: JournalRecord) -> str:
    """The visit that a record is about: `node`, `node#2`, in a sub-workflow `outer/node`; empty if it is about none."""
    if record.node_id is None:
        return ""
    above = [step.partition("#") for step in record.frame.split("/")[1:]]
    steps = [(node, number) for node, _, number in above]
    steps.append((record.node_id, str(record.visit or 1)))
    return "/".join(node if number == "1" else f"{node}#{number}" for node, number in steps)


def _told(run_id: str, record: JournalRecord, asked: Mapping[str, str], room: int | None) -> str:
    data = record.data
    match record.kind:
        case "started":
            return fields_text(data["input"], room) if data["input"] else "without input"
        case "visit":
            return fields_text(data["delta"], room)
        case "failed":
            return _error(data)
        case "attempt":
            again = f", again after {data['delay']:g} s" if data.get("delay") else ""
            return f"attempt {data['attempt']} failed{again}: {_error(data)}"
        case "effect":
            own = f"{run_id}{record.frame}/{record.node_id}#{record.visit}/"
            name = str(data["key"]).removeprefix(own)
            return f"{data['kind']} {name} = {value_text(data['value'], room)}"
        case "resumed":
            return "goes on"
        case "migrated":
            version = data["definition"]["version"]
            return f"from version {data['from']} to {version}: {fields_text(data['state'], room)} -> {data['next']}"
        case "suspended":
            return _waits(data)
        case "answered":
            id = data["request"]
            return f"{asked.get(id, 'request')} ({id}): {value_text(data['value'], room)}"
        case "ended":
            return _end(data, room)
    return ""


def _error(data: Mapping[str, Any]) -> str:
    message = str(data.get("message") or "").strip().partition("\n")[0]
    return f"{data['error']}: {message}" if message else str(data["error"])


def _waits(data: Mapping[str, Any]) -> str:
    waits = [f"{request['key']} ({request['id']})" for request in data["requests"]]
    if data.get("due"):
        waits.append(f"until {data['due']}")
    return f"waits for {', '.join(waits)}"


def _end(data: Mapping[str, Any], room: int | None) -> str:
    if "result" in data:
        return f"completed with {value_text(data['result'], room)}"
    if "reason" in data:
        return f"cancelled: {data['reason'] or 'somebody asked for it'}"
    return f"failed: {_error(data)}"


def _onward(
    run_id: str, record: JournalRecord, later: Sequence[JournalRecord], plan: Plan | None
) -> str:
    """Where the run went from a visit, by the definition or else by what came next."""
    number = record.data.get("route")
    if record.kind == "visit" and number is None:
        return f" -> no route: {record.data.get('error')}"
    target = _target(record, plan)
    if target is None:
        target = _next(run_id, record, later)
    if target is not None:
        return f" -> {target}"
    return "" if number is None else f" by route {number + 1}"


def _target(record: JournalRecord, plan: Plan | None) -> str | None:
    plan = None if plan is None else plan.inner(record.frame)
    node = None if plan is None else plan.nodes.get(record.node_id or "")
    if node is not None and record.kind == "failed":
        return None if node.on_error is None else node.on_error.id
    number = record.data.get("route")
    if node is None or number is None or number >= len(node.routes):
        return None
    target = node.routes[number].target
    return "the end" if target is None else target.id


def _next(run_id: str, record: JournalRecord, later: Sequence[JournalRecord]) -> str | None:
    above, _, holder = record.frame.rpartition("/")
    for after in later:
        if after.kind == "ended" and not record.frame and "result" in after.data:
            return "the end"
        for frame, node in _at_work(run_id, after):
            if frame == record.frame:
                return node
            if frame == above and after.kind == "visit" and holder:
                return "the end"
            if frame.startswith(f"{record.frame}/"):
                return frame[len(record.frame) + 1 :].partition("#")[0]
    return None


def _at_work(run_id: str, record: JournalRecord) -> Iterator[tuple[str, str]]:
    """The frames and nodes that a record shows at work."""
    if record.node_id is not None:
        yield record.frame, record.node_id
    elif record.kind == "suspended":
        for request in record.data["requests"]:
            yield str(request["run_id"]).removeprefix(run_id), request["node_id"]
