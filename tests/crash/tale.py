"""The tale of a run: all that its processes and its journal tell, in a form in which two runs can be compared."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.crash.world import Line, lines_of

__all__ = ["Record", "Story", "Tale", "is_time"]


def is_time(key: str) -> bool:
    """Whether an effect's key is that of a time that is waited for."""
    return key.rpartition("/")[2].partition(".")[0] == "wait"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of a journal, and in which epoch it was written."""

    number: int
    kind: str
    digest: str
    body: Mapping[str, Any]
    epoch: int

    @property
    def place(self) -> str:
        """The visit that it tells of."""
        return f"{self.body['frame']}/{self.body['node']}#{self.body['visit']}"


@dataclass(slots=True)
class Story:
    """What a journal says, without what a crash may change: who took over when, and when things happened.

    What one workflow or sub-workflow did is in order; the effects of a visit, and what several of them did at the same
    time, are not.
    """

    began: Any = None
    frames: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    effects: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    answered: dict[str, Any] = field(default_factory=dict)
    waited: set[str] = field(default_factory=set)
    ended: Any = None


@dataclass(slots=True)
class Tale:
    """All that is known of the runs of one plan.

    Args:
        lines: What was written outside of the store, in order.
    """

    lines: Sequence[Line]

    @classmethod
    def of(cls, path: Path) -> Tale:
        """What a file of the world tells."""
        return cls(list(lines_of(path)))

    def told(self, what: str) -> Iterator[Line]:
        """The lines that tell one kind of thing."""
        return (line for line in self.lines if line.what == what)

    def ends(self) -> dict[str, Any]:
        """How each run ended, as whoever asks is told."""
        return {line.data["run"]: line.data for line in self.told("ended")}

    def statuses(self) -> dict[str, str]:
        """What the store says of each run in the end."""
        return {line.data["run"]: line.data["status"] for line in self.told("journal")}

    @property
    def writes(self) -> int:
        """How many writes the last process made that lived to its end."""
        count = 0
        for line in self.told("closed"):
            count = line.data["writes"]
        return count

    def journals(self) -> dict[str, list[Record]]:
        """The journal of each run, as it is in the end."""
        first: dict[str, int] = {}
        for line in self.told("acknowledged"):
            first.setdefault(line.data["run"], line.data["epoch"])
        return {
            run: list(_records(line.data["entries"], first.get(run, 1)))
            for line in self.told("journal")
            for run in (line.data["run"],)
        }

    def stories(self) -> dict[str, Story]:
        """What each journal says."""
        return {run: _story_of(records) for run, records in self.journals().items()}


def _records(entries: Sequence[Any], epoch: int) -> Iterator[Record]:
    """The records of a journal; `epoch` is when it was begun, because a run may be claimed and then left without an entry."""
    for number, kind, digest, text in entries:
        body = json.loads(text)
        if kind == "resumed":
            epoch = body["epoch"]
        yield Record(number, kind, digest, body, epoch)


def _story_of(records: Sequence[Record]) -> Story:
    story = Story()
    for record in records:
        body = {name: _scrubbed(value) for name, value in record.body.items() if name not in _SPENT}
        match record.kind:
            case "started":
                story.began = body
            case "visit" | "failed" | "attempt":
                story.frames[body.pop("frame")].append((record.kind, body))
            case "effect":
                key = body.pop("key")
                story.effects[key] = {**body, "value": None} if is_time(key) else body
            case "suspended":
                story.asked.update(
                    {request["id"]: {**request, "due": None} for request in body["requests"]}
                )
                story.waited.update(body["places"])
            case "answered":
                story.answered[body["request"]] = body["value"]
            case "ended":
                story.ended = {**body, "used": _scrubbed(record.body["used"])}
    return story


_SPENT: Final = ("used", "spent", "seconds")
"""What was spent by then; of things that happen at the same time, it depends on which was first. At the end it is compared."""


def _scrubbed(value: Any) -> Any:
    """A stored value without how long something took."""
    if isinstance(value, dict):
        return {name: _scrubbed(inner) for name, inner in value.items() if name != "seconds"}
    if isinstance(value, list):
        return [_scrubbed(inner) for inner in value]
    return value
