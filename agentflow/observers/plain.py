"""Progress as plain lines: for logs, pipes and terminals that cannot do more."""

from __future__ import annotations

import math
from typing import TextIO

from agentflow.observers.progress import ENDS, Progress, spending_text
from agentflow.run.facts import Fact

__all__ = ["PlainProgress"]


class PlainProgress:
    """An observer that writes a line for what happens to a run.

    A node that is visited often is told of less and less often: at its visits 1 to 10, then 20, 30 … 100, 200 and so on,
    so that a loop of 100,000 rounds stays readable.

    Args:
        stream: Where the lines go.
        every: Write one for every fact instead, with all that it carries.
    """

    def __init__(self, stream: TextIO, *, every: bool = False) -> None:
        self._stream = stream
        self._every = every
        self._progress = Progress()
        self._resumed = False

    def accepts(self, kind: str, content: bool) -> bool:
        return not content and (self._every or kind != "model.chunk")

    def event(self, fact: Fact) -> None:
        at = fact.time.timestamp()
        row = self._progress.rows.get(self._progress.path_of(fact))
        before = 0.0 if row is None else row.seconds
        self._progress.take(fact, at)
        line = _whole(fact) if self._every else self._line(fact, at, before)
        if line:
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def note(self, text: str) -> None:
        """Write a line that no fact tells, such as why the run is about to be cancelled."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def _line(self, fact: Fact, at: float, before: float) -> str:
        progress = self._progress
        if fact.parent_run_id is None:
            if fact.kind == "run.started" and not self._resumed:
                return f"run {fact.run_id} of {fact.workflow_id}"
            if fact.kind == "run.resumed":
                self._resumed = True
                return f"run {fact.run_id} of {fact.workflow_id} goes on"
            if fact.kind in ENDS:
                return self._end(at)
            if fact.kind == "round.started" and progress.round > 1 and _is_told(progress.round):
                return f"  round {progress.round}"
        if fact.kind == "limit.reached":
            handler = fact.data.get("handler")
            onward = f"; going on with {handler}" if handler else ""
            return f"  limit of {fact.data['limit']} reached: {fact.data['allowed']:g}{onward}"
        return "" if fact.node_id is None else self._node(fact, before)

    def _node(self, fact: Fact, before: float) -> str:
        path = self._progress.path_of(fact)
        row = self._progress.rows[path]
        name = "/".join(path)
        again = f" visit {row.visits}" if row.visits > 1 else ""
        match fact.kind:
            case "node.committed" if _is_told(row.visits):
                return f"  {name}{again}: done in {row.seconds - before:.2f} s"
            case "node.failed":
                handler = fact.data.get("handler")
                onward = f"; going on with {handler}" if handler else ""
                return f"  {name}{again}: failed, {row.note}{onward}"
            case "node.retried":
                return f"  {name}{again}: attempt {fact.attempt} failed, {row.note}"
            case "thread.abandoned":
                return f"  {name}{again}: did not stop, and was left behind"
        return ""

    def _end(self, at: float) -> str:
        progress = self._progress
        spent = spending_text(progress.spent)
        told = f": {spent}" if spent else ""
        return f"run {progress.state} in {progress.elapsed(at):.2f} s{told}"


def _is_told(number: int) -> bool:
    """Whether a number has one digit that is not 0: 1, 2 … 9, 10, 20 … 90, 100, 200 and so on."""
    return number < 10 or number % 10 ** int(math.log10(number)) == 0


def _whole(fact: Fact) -> str:
    where = "/".join(
        str(part)
        for part in (fact.workflow_id, fact.node_id, fact.visit, fact.attempt)
        if part is not None
    )
    data = " ".join(f"{name}={value!r}" for name, value in fact.data.items())
    return f"{fact.seq:>5} {fact.time:%H:%M:%S.%f} {fact.kind:<16} {where} {data}".rstrip()
