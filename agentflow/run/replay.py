"""Replay: a recorded run is made again by today's code, every effect answered from the record, and the first difference is told.

Bodies run; what they ask of models, tools, `once`, times and people is answered as it was then, failures included. So a
difference is one of the code, and a folder of recorded runs is a suite of tests.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from agentflow.errors import Divergence
from agentflow.run.decide import Suspend, told
from agentflow.run.entries import Claim, Entry, RunInfo, StoredStatus
from agentflow.run.failed_effect import failure_of
from agentflow.run.journal import Journal, PastEffect
from agentflow.run.places import is_below, place_of
from agentflow.run.recorded import NOWHERE, RecordedRun
from agentflow.run.stored import restored, stored, stored_time

if TYPE_CHECKING:
    from agentflow.graph.plan import PlanNode
    from agentflow.run.context import NodeContext
    from agentflow.run.engine import Engine
    from agentflow.run.frame import Frame
    from agentflow.run.options import ResumeOptions

__all__ = ["Difference", "Replayed", "replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where today's code does something else than was recorded.

    Args:
        frame: The sub-workflow, as a path of visits; empty for the run itself.
        node_id: The node; empty for the end of the run.
        visit: Which visit of it.
        what: What differs: an update, a field, a route, a failure, an effect, the end of the run.
        expected: What was recorded.
        got: What happened now.
    """

    frame: str
    node_id: str
    visit: int
    what: str
    expected: str
    got: str

    def __str__(self) -> str:
        where = (
            f"{self.frame}/{self.node_id}#{self.visit}" if self.node_id else "the end of the run"
        )
        return f"{where}: {self.what}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay.

    Args:
        run_id: The run.
        visits: How many recorded visits were made again.
        difference: The first difference, if there is one.
    """

    run_id: str
    visits: int
    difference: Difference | None = None

    @property
    def same(self) -> bool:
        """Whether today's code does what was recorded."""
        return self.difference is None


async def replay(
    engine: Engine[Any],
    info: RunInfo,
    entries: Sequence[Entry],
    **options: Unpack[ResumeOptions],
) -> Replayed:
    """Make a recorded run again, without a store, and compare.

    Args:
        engine: An engine of today's definition; its models and tools are bound, and never called.
        info: What is known of the run.
        entries: Its whole journal.
        options: `context`, `identity`, `deps`, `observers` and `private`, as `Engine.run` takes them.

    Raises:
        RunConflict: The run is one of another workflow.
    """
    from agentflow.run.attach import same_workflow

    same_workflow(info.run_id, engine.workflow, info)
    record = _Record(info, entries)
    run = RecordedRun(engine, record, run_id=info.run_id, input=record.input, options=options)
    async with run:
        await run.settled()
    record.compare_end(run)
    return Replayed(info.run_id, record.visits, record.difference)


class _Record(Journal):
    """The journal of a run that is made again: it answers, compares, and writes nothing.

    What comes up to the last edit of a fork, or up to a migration, is gone through as it is recorded: it was made by
    another run, or by another definition.
    """

    def __init__(self, info: RunInfo, entries: Sequence[Entry]) -> None:
        edits = [at for at, entry in enumerate(entries, 1) if entry.kind in ("edited", "migrated")]
        begin = edits[-1] if edits else 0
        # The claim of a run that has not begun: what is known of it was not done by this process.
        claim = Claim(info.run_id, 0, replace(info, last=0))
        super().__init__(NOWHERE, claim, entries[:begin])
        self.used.clear()
        self._shares.clear()
        self.visits = 0
        self.difference: Difference | None = None
        self._status = info.status
        self._ends: dict[str, dict[str, Any]] = {}
        self._effects: dict[str, dict[str, PastEffect]] = defaultdict(dict)
        self._failures: dict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(deque)
        self._attempts: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        self._paused: set[str] = set()
        self._ended: dict[str, Any] | None = None
        self._at: tuple[str, str, int] = ("", "", 0)
        for entry in entries:
            self._know(entry)
        if self.started is None:
            self.started = json.loads(entries[0].body)
        given = self.started["input"]
        self.input = None if given is None else restored("the input", given)

    def _know(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        match entry.kind:
            case "visit" | "failed":
                self._ends[place_of(body)] = {"kind": entry.kind, **body}
                self._paused.discard(place_of(body))
            case "effect":
                past = PastEffect(body["kind"], body["digest"], body["value"], body["own"])
                self._effects[place_of(body)][body["key"]] = past
            case "effect_failed":
                self._failures[place_of(body), body["key"]].append(body)
            case "attempt":
                self._attempts[place_of(body)].append(body)
            case "suspended":
                self._paused.update(body["places"])
                for request in body["requests"]:
                    self.asked[request["id"]] = stored_time(request.get("due"))
            case "answered":
                self.answers[body["request"]] = restored("an answer", body["value"])
            case "ended":
                self._ended = body

    @property
    def _ended_by_itself(self) -> bool:
        """Whether the run came to its end, and was not stopped: then whatever is not recorded failed, or bailed, or was cancelled by what did."""
        return self._ended is not None and not {"reason", "budget"} & self._ended.keys()

    # What is answered.

    def entering(self, frame: Frame, node: PlanNode, visit: int) -> None:
        place = frame.place(node, visit)
        self._at = frame.path, node.id, visit
        holds = node.kind is not None and any(is_below(end, place) for end in self._ends)
        if place in self._ends or place in self._paused or holds or self._ended_by_itself:
            return
        # It was not made, or not to its end: what it would do is not known.
        raise Suspend(())

    def performing(self, ctx: NodeContext, kind: str, key: str) -> None:
        failures = self._failures.get((ctx.place, key))
        if failures:
            raise failure_of(failures.popleft())
        if ctx.place not in self._ends:
            raise Suspend(())
        self._differ(
            f"an effect of the kind {kind!r}", "only what is recorded", f"another one, {key!r}"
        )

    def effect_of(self, place: str, key: str) -> PastEffect | None:
        if self._failures.get((place, key)):
            return None
        # What a migration has renamed is known by its new name to the journal alone.
        return self._effects[place].get(key) or super().effect_of(place, key)

    def own_effects_at(self, place: str) -> Iterator[str]:
        own = [key for key, effect in self._effects[place].items() if effect.own]
        yield from dict.fromkeys((*super().own_effects_at(place), *own))

    # What is compared.

    async def write(self, kind: str, body: Mapping[str, Any], **_options: Any) -> None:
        # As it would be read again: so numbers and texts are compared, not what they were made of.
        self._compare(kind, json.loads(json.dumps(body)))

    def hold(self, kind: str, body: Mapping[str, Any]) -> None:
        self._compare(kind, json.loads(json.dumps(body)))

    async def give_back(self, status: StoredStatus, **_options: Any) -> None:
        """Nothing was claimed."""

    def _compare(self, kind: str, body: Mapping[str, Any]) -> None:
        match kind:
            case "visit" | "failed":
                self._compare_visit(kind, body)
            case "attempt":
                self._compare_attempt(body)

    def _compare_visit(self, kind: str, body: Mapping[str, Any]) -> None:
        place = place_of(body)
        self._at = body["frame"], body["node"], body["visit"]
        end = self._ends.get(place)
        if end is None:
            raise Suspend(())
        self.visits += 1
        if kind != end["kind"]:
            self._differ("its end", _told_end(end), _told_end({"kind": kind, **body}))
        if kind == "failed":
            self._same("its failure", _told_end(end), _told_end({"kind": kind, **body}))
            return
        for name in sorted({*end["delta"], *body["delta"]}):
            expected, got = (_told_field(one["delta"], name) for one in (end, body))
            self._same(f"the field {name!r}", expected, got)
        self._same("its route", _told_route(end), _told_route(body))

    def _compare_attempt(self, body: Mapping[str, Any]) -> None:
        self._at = body["frame"], body["node"], body["visit"]
        known = self._attempts[place_of(body)]
        got = f"{body['error']}: {body['message']}"
        if not known:
            self._differ("an attempt", "no failure", f"the failure {got}")
        expected = known.popleft()
        self._same("a failed attempt", f"{expected['error']}: {expected['message']}", got)

    def compare_end(self, run: RecordedRun) -> None:
        """Compare how the run ended, when it has."""
        if self.difference is not None or self._ended is None:
            return
        if run.status == "suspended":
            # No more is recorded: the run was cancelled there, or reached a limit.
            if "result" in self._ended:
                self._note("its next visit", "the end of the run", "a visit that is not recorded")
            return
        self._at = "", "", 0
        error = run.error
        expected = _told_outcome(self._ended)
        if error is None:
            got = _told_outcome({"result": json.loads(json.dumps(stored("the result", run.value)))})
        else:
            got = _told_outcome({"error": type(error).__name__, "message": told(error)})
        if expected != got:
            self._note("the outcome", expected, got)

    def _same(self, what: str, expected: str, got: str) -> None:
        if expected != got:
            self._differ(what, expected, got)

    def _differ(self, what: str, expected: str, got: str) -> NoReturn:
        self._note(what, expected, got)
        raise Divergence(str(self.difference))

    def _note(self, what: str, expected: str, got: str) -> None:
        if self.difference is None:
            frame, node_id, visit = self._at
            self.difference = Difference(
                frame=frame, node_id=node_id, visit=visit, what=what, expected=expected, got=got
            )


def _told_end(body: Mapping[str, Any]) -> str:
    if body["kind"] == "failed":
        return f"the failure {body['error']}: {body['message']}"
    return f"an update of {', '.join(body['delta']) or 'nothing'}"


def _told_field(delta: Mapping[str, Any], name: str) -> str:
    return json.dumps(delta[name], ensure_ascii=False) if name in delta else "no change"


def _told_route(body: Mapping[str, Any]) -> str:
    if body["route"] is None:
        return f"none: {body['error']}"
    return f"route {body['route'] + 1} to {body['to'] or 'the end'}"


def _told_outcome(body: Mapping[str, Any]) -> str:
    if "result" in body:
        return f"the result {json.dumps(body['result'], ensure_ascii=False)}"
    return f"{body['error']}: {body['message']}"
