"""What a suspended run waits for, and what to type for it to go on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from agentflow.cli.answer import wanted
from agentflow.cli.moment import moment
from agentflow.cli.printable import printable
from agentflow.cli.stored_value import value_text
from agentflow.cli.styled import Line
from agentflow.graph.counted import counted

if TYPE_CHECKING:
    from agentflow.run.archive import JournalRecord

__all__ = ["again", "pending", "question_lines", "waiting_lines", "wanted_line"]


def pending(records: Sequence[JournalRecord]) -> list[Mapping[str, Any]]:
    """The requests of the last suspension that have no answer yet, in their stored form; none when the run has gone on."""
    waiting: dict[str, Mapping[str, Any]] = {}
    for record in records:
        if record.kind == "suspended":
            waiting = {data["id"]: data for data in record.data["requests"]}
        elif record.kind == "answered":
            waiting.pop(record.data["request"], None)
        elif record.kind == "migrated":
            there = record.data["requests"]
            waiting = {
                there[id]["id"]: {**data, **there[id]}
                for id, data in waiting.items()
                if id in there
            }
        elif record.kind != "resumed":
            waiting = {}
    return list(waiting.values())


def again(run_id: str, answer: str, store: str | None, target: str, more: str = "") -> str:
    """The command that lets a run go on.

    Args:
        run_id: The run.
        answer: The words of the answer, empty for none.
        store: The store, if the command has to name it.
        target: What holds the workflow.
        more: A further option.
    """
    words = [run_id, *([answer] if answer else [])]
    options = [f"--store {shlex.quote(store)}"] if store else []
    return " ".join(
        ["agentflow resume", shlex.join(words), *options, *filter(None, [more]), target]
    )


def waiting_lines(
    run_id: str,
    requests: Sequence[Mapping[str, Any]],
    due: datetime | None,
    *,
    store: str | None,
    target: str,
) -> Iterator[Line]:
    """Every request with its payload and the command that answers it; or till when the run waits.

    Args:
        run_id: The run.
        requests: What waits, in its stored form.
        due: When the run goes on without an answer.
        store: The store, if a command has to name it.
        target: What holds the workflow, as a command names it.
    """
    number = len(requests)
    till = "" if due is None else f" until {moment(due)} UTC"
    waits = f" for {counted(number, 'answer')}" if number else ""
    yield ((f"run {printable(run_id)} is suspended and waits{waits}{till}", "warning"),)
    for request in requests:
        yield ()
        yield from question_lines(request)
        yield wanted_line(request)
        yield (
            ("  answer   ", "quiet"),
            (again(run_id, f"{request['id']}=VALUE", store, target), "hint"),
        )
    if not number:
        yield ("  go on after that: ", "quiet"), (again(run_id, "", store, target), "hint")


def question_lines(request: Mapping[str, Any]) -> Iterator[Line]:
    """One request: who asks, and what there is to see."""
    yield (
        ("request ", "plain"),
        (printable(request["key"]), "strong"),
        (f" of node {request['node_id']}", "plain"),
        (f" ({request['id']})", "quiet"),
    )
    payload = request["payload"]
    if payload is not None:
        for line in _payload(payload).splitlines():
            yield ((f"    {printable(line)}", "plain"),)


def wanted_line(request: Mapping[str, Any]) -> Line:
    """What would be an answer to a request."""
    return ("  wanted   ", "quiet"), (printable(wanted(request["schema"])), "plain")


_WIDTH: Final = 72
"""Data that is longer than this is spread over lines."""


def _payload(data: Any) -> str:
    """Text as it is, data as JSON, and what JSON does not have as Python writes it."""
    if isinstance(data, str):
        return data
    text = json.dumps(data, ensure_ascii=False)
    if '"~"' in text:
        return value_text(data)
    return text if len(text) <= _WIDTH else json.dumps(data, indent=2, ensure_ascii=False)
