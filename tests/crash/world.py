"""What is outside of every store: an append-only file that shows what was done, by which process, and what each of them was told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentflow import Fact

__all__ = ["Line", "World", "lines_of"]

RECORDED = frozenset({"node.committed", "node.failed", "node.retried", "route.taken"})
"""Kinds of facts that tell of what is in the journal: what only begins may begin again."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file.

    Args:
        life: The process that wrote it, by its number.
        at: The time, in seconds since the beginning of the first process.
        what: What it tells: `do`, `got`, `claimed`, `acknowledged`, `told` …
        data: Everything else.
    """

    life: int
    at: float
    what: str
    data: dict[str, Any] = field(default_factory=dict)


class World:
    """The file as one process writes it: every line in one call, so that a kill loses a whole line or none.

    Args:
        path: The file.
        life: The number of the process.
        now: Tells the time.
    """

    def __init__(self, path: Path, life: int, now: Callable[[], float]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._life = life
        self._now = now
        self.epochs: dict[str, int] = {}

    def write(self, what: str, **data: Any) -> None:
        """Add a line."""
        body = json.dumps([self._life, self._now(), what, data], separators=(",", ":"))
        # A line of its own, also after one that was cut off.
        os.write(self._file, f"\n{body}\n".encode())

    def do(self, key: str) -> str:
        """The outside effect itself: it cannot be undone, and does not know whether it was done before."""
        self.write("do", key=key, epoch=self.epochs.get(key.partition("/")[0], 0))
        return f"{key} is done"

    def got(self, key: str) -> None:
        """Note that a node has been given what an effect gave: it must never be done again."""
        self.write("got", key=key)

    def told(self, fact: Fact) -> None:
        """As an observer: note what was told of the journal."""
        # A failure without a handler is recorded with the end of the run.
        if fact.kind in RECORDED and fact.data.get("handler", "") is not None:
            place = [fact.kind, fact.run_id, fact.node_id, fact.visit, fact.attempt]
            self.write("told", place=place)


def lines_of(path: Path) -> Iterator[Line]:
    """What was written, in order."""
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            yield Line(*json.loads(line))
        except ValueError:
            # Cut off by a kill, or nothing at all.
            continue
