"""A stored run for people: what it is, what happened, what it holds, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentflow.cli.moment import moment
from agentflow.cli.printable import printable
from agentflow.cli.status import ROLES
from agentflow.cli.stored_value import value_text
from agentflow.cli.styled import Line, Span
from agentflow.cli.table import table_lines
from agentflow.cli.timeline import timeline
from agentflow.cli.waiting import again, waiting_lines

if TYPE_CHECKING:
    from agentflow.cli.run_view import RunView

__all__ = ["run_lines"]

_ROOM = 60
"""How many characters of a value are shown in the timeline."""

_MORE_ROOM = 200
"""How many are shown of a field of the state."""


def run_lines(
    view: RunView, *, target: str, store: str | None, columns: int | None, whole: bool
) -> Iterator[Line]:
    """The run, part by part; parts that are empty are left out.

    Args:
        view: The run.
        target: How commands name what holds its workflow.
        store: How they name its store, if they have to.
        columns: How wide a line of the timeline may be; `None` for as wide as it is.
        whole: Whether values are shown in their whole length.
    """
    yield from _head(view)
    if view.records:
        yield ()
        yield (("history", "strong"),)
        room = None if whole else _ROOM
        for line in timeline(view.info.run_id, view.records, view.plan, room=room):
            yield line if whole or columns is None else _cut(line, columns)
    fields = list(_fields(view, None if whole else _MORE_ROOM))
    if fields:
        yield ()
        yield (("state" if view.state is not None else "last written", "strong"),)
        yield from table_lines(fields, indent=2)
    yield from _onward(view, target, store)


def _onward(view: RunView, target: str, store: str | None) -> Iterator[Line]:
    run_id = view.info.run_id
    if view.info.status == "suspended":
        yield ()
        yield from waiting_lines(run_id, view.requests, view.info.due, store=store, target=target)
    elif view.info.status == "interrupted":
        yield ()
        yield ("go on with it: ", "quiet"), (again(run_id, "", store, target), "hint")


def _head(view: RunView) -> Iterator[Line]:
    from agentflow.observers.progress import spending_text

    info = view.info
    of = f" of {printable(info.workflow_id)}"
    yield ("run ", "plain"), (printable(info.run_id), "strong"), (of, "plain")
    rows: list[list[Span]] = [
        [("status", "quiet"), (info.status, ROLES[info.status])],
        [("version", "quiet"), (info.workflow_version, "plain")],
        [("created", "quiet"), (f"{moment(info.created)} UTC", "plain")],
        [("written", "quiet"), (f"{moment(info.updated)} UTC", "plain")],
    ]
    spent = spending_text(view.used)
    if "seconds" in view.used:
        spent += f", {view.used['seconds']:.2f} s"
    if spent:
        rows.append([("spent", "quiet"), (spent, "plain")])
    yield from table_lines(rows, indent=2)


def _fields(view: RunView, room: int | None) -> Iterator[list[Span]]:
    if view.state is not None:
        for name, value in view.state.items():
            yield [(name, "plain"), (value_text(value, room), "plain"), ("", "plain")]
        return
    for name, field in view.written.items():
        often = f"({field.times} times)" if field.times > 1 else ""
        yield [(name, "plain"), (value_text(field.value, room), "plain"), (often, "quiet")]


def _cut(line: Line, columns: int) -> Line:
    spans: list[Span] = []
    left = columns
    for text, role in line:
        if len(text) > left:
            spans.append((f"{text[: max(0, left - 1)]}…", role))
            break
        spans.append((text, role))
        left -= len(text)
    return tuple(spans)
