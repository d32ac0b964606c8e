"""The verdict: whether a run that was killed is what it would have been, and whether anything was done, asked or told twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from agentflow.graph.codec import decoded
from agentflow.run.entries import ENDED
from tests.crash.life import seconds_of
from tests.crash.tale import Record, Story, Tale, is_time

__all__ = ["CHECKS", "OUTCOME", "Case", "Check", "problems"]


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged.

    Args:
        calm: What happened without any death.
        hit: What happened with deaths.
        deaths: How many processes were killed, or met a full disk.
        abreast: Whether some of it happened at the same time.
        races: Whether some of that was a race.
    """

    calm: Tale
    hit: Tale
    deaths: int
    abreast: bool = False
    races: bool = False

    def spent(self, used: Mapping[str, Any]) -> dict[str, Any]:
        """What of the spending has to be the same: of the visits of a branch that loses a race, nothing may be recorded."""
        chance = {"visits", "rounds"} if self.races else set()
        return {limit: amount for limit, amount in used.items() if limit not in chance}


Check = Callable[[Case], Iterator[str]]


def problems(case: Case, checks: Sequence[Check]) -> list[str]:
    """Everything that is wrong, in words; empty when nothing is."""
    return [problem for check in checks for problem in check(case)]


def ends_alike(case: Case) -> Iterator[str]:
    """Result, state, error and spending are those of the undisturbed run; whoever asks again is told the same."""
    calm, hit = (
        {run: {**end, "used": case.spent(end["used"])} for run, end in tale.ends().items()}
        for tale in (case.calm, case.hit)
    )
    statuses = case.hit.statuses()
    if calm != hit:
        yield f"it ended as {hit}, and undisturbed as {calm}"
    for run, end in hit.items():
        if end["status"] not in ENDED or {end["again"], statuses.get(run)} != {end["status"]}:
            yield f"run {run} is {end['status']}, told again {end['again']}, stored as {statuses.get(run)}"


def says_the_same(case: Case) -> Iterator[str]:
    """The journal says what the journal of the undisturbed run says."""
    hit = case.hit.stories()
    for run, story in case.calm.stories().items():
        if run not in hit:
            yield f"run {run} has no journal"
            continue
        for name in (each.name for each in fields(Story)):
            expected, found = (_said(case, each, name) for each in (story, hit[run]))
            if name == "waited" and found <= expected:
                # A time that has passed before anybody could wait for it is not waited for.
                continue
            if found != expected:
                yield f"run {run}: the journal says of {name}: {found}, and undisturbed: {expected}"


def _said(case: Case, story: Story, name: str) -> Any:
    said = getattr(story, name)
    if name == "ended" and said is not None:
        return {**said, "used": case.spent(said["used"])}
    return said


def numbers_have_no_gaps(case: Case) -> Iterator[str]:
    """Records are numbered from 1; nothing is recorded, answered or asked twice."""
    for run, records in case.hit.journals().items():
        numbers = [record.number for record in records]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"run {run}: the records are numbered {numbers}"
        epochs = [record.epoch for record in records]
        if epochs != sorted(epochs):
            yield f"run {run}: the epochs of the records are {epochs}"
        for what, often in Counter(_subjects(records)).items():
            if often > 1:
                yield f"run {run}: {what} is recorded {often} times"
        calm = sum(record.kind == "suspended" for record in case.calm.journals()[run])
        waits = sum(record.kind == "suspended" for record in records)
        if waits > calm + case.deaths and not case.abreast:
            yield f"run {run} was suspended {waits} times, and undisturbed {calm} times"


def _subjects(records: list[Record]) -> Iterator[str]:
    for record in records:
        match record.kind:
            case "visit" | "failed":
                yield f"the visit {record.place}"
            case "attempt":
                yield f"attempt {record.body['attempt']} of {record.place}"
            case "effect":
                yield f"the effect {record.body['key']}"
            case "answered":
                yield f"the answer to {record.body['request']}"
            case "started" | "ended":
                yield record.kind


def what_was_acknowledged_is_there(case: Case) -> Iterator[str]:
    """No record is lost or changed, and whoever wrote it was the only one who could."""
    journals = case.hit.journals()
    known: dict[str, set[int]] = defaultdict(set)
    for line in case.hit.told("acknowledged"):
        run, number = line.data["run"], line.data["number"]
        known[run].add(number)
        record = next((each for each in journals.get(run, ()) if each.number == number), None)
        if record is None or record.digest != line.data["digest"]:
            yield f"run {run}: record {number} was acknowledged to process {line.life}, and is lost"
        elif record.epoch != line.data["epoch"]:
            yield f"run {run}: record {number} is of epoch {record.epoch}, written by {line.data['epoch']}"
    for run, records in journals.items():
        silent = {record.epoch for record in records if record.number not in known[run]}
        if len(silent) > case.deaths:
            yield f"run {run}: nobody was told of some records of the epochs {silent}"


OUTSIDE: Final = frozenset({"once", "model", "tool"})
"""Kinds of effects that do something outside; others are what the run itself must not decide again."""


def effects_are_done_once(case: Case) -> Iterator[str]:
    """What is recorded is never done again; what was under way is, under the same key, once for each death."""
    done: dict[str, list[int]] = defaultdict(list)
    given: set[str] = set()
    for line in case.hit.lines:
        if line.what == "got":
            given.add(line.data["key"])
        elif line.what == "do":
            key = line.data["key"]
            done[key].append(line.data["epoch"])
            if _recorded_as(key) in given:
                yield f"{key} was done again by process {line.life}, although its node had been given it"
    expected = {line.data["key"] for line in case.calm.told("do")}
    if done.keys() != expected:
        yield f"done and not expected: {done.keys() - expected}; expected and not done: {expected - done.keys()}"
    for key, epochs in done.items():
        if len(epochs) != len(set(epochs)) or len(epochs) > 1 + case.deaths:
            yield f"{key} was done in the epochs {epochs}, with {case.deaths} deaths"
    yield from _is_recorded(case, done, given)


def _is_recorded(case: Case, done: dict[str, list[int]], given: set[str]) -> Iterator[str]:
    recorded = {
        record.body["key"]: record.epoch
        for records in case.hit.journals().values()
        for record in records
        if record.kind == "effect" and record.body["kind"] in OUTSIDE
        if not is_time(record.body["key"])
    }
    for key, epochs in done.items():
        epoch = recorded.get(_recorded_as(key))
        if epoch is not None and max(epochs) > epoch:
            yield f"{key} was recorded in epoch {epoch}, and done in {epochs}"
    for key, epoch in recorded.items():
        if epoch not in done.get(key, ()):
            yield f"{key} was recorded in epoch {epoch}, and done in {done.get(key)}"
    if given - recorded.keys():
        yield f"given to a node, and not recorded: {given - recorded.keys()}"


def _recorded_as(key: str) -> str:
    """The effect that an act belongs to: a tool may take several tries."""
    return key.partition("/try ")[0]


def waits_are_kept(case: Case) -> Iterator[str]:
    """No wait is cut short, begun anew, or slept through."""
    for run, records in case.hit.journals().items():
        dues = {
            record.place: _seconds(decoded(record.body["value"]))
            for record in records
            if record.kind == "effect" and is_time(record.body["key"])
        }
        written = {
            line.data["number"]: line.at
            for line in case.hit.told("acknowledged")
            if line.data["run"] == run
        }
        claimed = {
            line.data["epoch"]: line.at
            for line in case.hit.told("claimed")
            if line.data["run"] == run
        }
        for record in records:
            if record.kind == "suspended" and len(record.body["places"]) == 1:
                (place,) = record.body["places"]
                if place in dues and _seconds(record.body["due"]) != dues[place]:
                    yield f"run {run}: {place} waits until {record.body['due']}, not {dues[place]}"
            elif record.kind == "visit" and record.place in dues and record.number in written:
                at, due = written[record.number], dues[record.place]
                # Where others sleep beside it, their time passes before this one is told.
                late = at > max(due, claimed[record.epoch]) and not case.abreast
                if at < due or late:
                    yield f"run {run}: {record.place} was to wait until {due}, and did so until {at}"


def _seconds(moment: datetime | str) -> float:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return seconds_of(moment)


def questions_are_answered_once(case: Case) -> Iterator[str]:
    """A question that was answered is not asked again, and one that is asked again keeps its time."""
    for run, records in case.hit.journals().items():
        answered: set[str] = set()
        dues: dict[str, str | None] = {}
        for record in records:
            if record.kind == "answered":
                answered.add(record.body["request"])
            elif record.kind == "suspended":
                asked = {request["id"]: request["due"] for request in record.body["requests"]}
                if answered & asked.keys():
                    yield f"run {run}: asked again after the answer: {answered & asked.keys()}"
                changed = {id for id, due in asked.items() if dues.setdefault(id, due) != due}
                if changed:
                    yield f"run {run}: the time of a question has changed: {changed}"


def observers_are_told_once(case: Case) -> Iterator[str]:
    """What is recorded is told once, or, if its process died just then, not at all."""
    calm, hit = (
        Counter(tuple(line.data["place"]) for line in tale.told("told"))
        for tale in (case.calm, case.hit)
    )
    for place, often in (hit - calm).items():
        yield f"{place} was told {often} times more than it should"
    lost: Counter[Any] = calm - hit
    if lost.total() > 2 * case.deaths and not case.abreast:
        yield f"not told, with {case.deaths} deaths: {lost}"


CHECKS: Final[tuple[Check, ...]] = (
    ends_alike,
    says_the_same,
    numbers_have_no_gaps,
    what_was_acknowledged_is_there,
    effects_are_done_once,
    waits_are_kept,
    questions_are_answered_once,
    observers_are_told_once,
)
"""What is true however often processes are killed."""

OUTCOME: Final[tuple[Check, ...]] = (ends_alike, says_the_same, numbers_have_no_gaps)
"""What is true even where something was lost, or where drivers take each other for dead."""
