"""The journal of a run: what was done, entry by entry, written before the run goes on, and gone through again after a crash.

Because routing is a function of committed state and everything else is an effect, the entries are enough: a run that is
opened again makes the same visits from them, without running a body, and goes on where they end.

Kinds of entries: `started` (the input and the defaults), `visit` (a committed update and the route taken), `failed` (a failure and its error node),
`edited` (a state that was changed in a fork), `attempt` (a failed try, another follows), `effect` (the recorded result of an effect), `effect_failed` (its error), `resumed` (another driver took over), `suspended`
(what the run waits for), `answered` (an answer), `migrated` (the state that a newer definition goes on with), `ended` (the result or the error), and `snapshot` (everything up to here, so that opening need not go further back).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from agentflow.errors import StoreError
from agentflow.run.entries import SNAPSHOT, Claim, Entry, StoredStatus
from agentflow.run.places import is_below, place_of, shares_of, upwards
from agentflow.run.stored import restored, stored_time
from agentflow.run.turn import Turn

if TYPE_CHECKING:
    from agentflow.graph.plan import PlanNode
    from agentflow.run.context import NodeContext
    from agentflow.run.frame import Frame
    from agentflow.run.ports import Store
    from agentflow.run.visit_record import VisitRecord

__all__ = ["Journal", "PastEffect"]


@dataclass(frozen=True, slots=True)
class PastEffect:
    """An effect as it was recorded: its kind, the digest of its request, its value, and whether the visit's own task did it."""

    kind: str
    digest: str
    data: Any
    own: bool


@dataclass(slots=True)
class _Begun:
    """What is recorded of a visit that has not ended: its effects, its failed attempts, and what it had spent."""

    effects: dict[str, PastEffect] = field(default_factory=dict)
    attempts: int = 0
    spent: dict[str, float] = field(default_factory=dict)


class Journal:
    """The journal of one run while it is driven from here.

    Frames and visits are named by their place below the run: `""` and `"/node#1"`, or `"/node#1"` and `"/node#1/inner#2"`.

    Args:
        store: Where it lives.
        claim: The right to write to it.
        entries: What it holds already, from the latest snapshot on.
    """

    def __init__(self, store: Store, claim: Claim, entries: Sequence[Entry]) -> None:
        self._store = store
        self._claim = claim
        self._last = claim.info.last
        self._turn = Turn()
        self._broken: StoreError | None = None
        self._visits: dict[str, deque[dict[str, Any]]] = {}
        self._gone: set[str] = set()
        self._begun: dict[str, _Begun] = {}
        self._shares: dict[str, dict[str, float]] = {}
        self._waiting: dict[str, VisitRecord] = {}
        self._held: list[tuple[str, str]] = []
        self._untold: list[Callable[[], None]] = []
        self._weight = 0
        self._snapshot_weight = 0
        self.started: Mapping[str, Any] | None = None
        self.snapshot: dict[str, Any] | None = None
        self.used: dict[str, float] = {}
        self.asked: dict[str, datetime | None] = {}
        self.answers: dict[str, Any] = {}
        for entry in entries:
            self._take(entry)

    @property
    def resumed(self) -> bool:
        """Whether the run had begun before it was claimed here."""
        return bool(self._claim.info.last)

    @property
    def definition(self) -> Mapping[str, Any]:
        """What is recorded of the definition that the run was last opened with."""
        assert self.started is not None
        found: Mapping[str, Any] = self.started["definition"]
        return found

    @property
    def migrated(self) -> bool:
        """Whether the run goes on from a state that it has not come to by itself, so that its input says nothing of it."""
        return self.started is not None and "migrated" in self.started

    @property
    def under_way(self) -> str | None:
        """The place of the visit of the run itself that has begun, and is not recorded; `None` if nothing is known of one."""
        return next((place for place in self._begun if place.count("/") == 1), None)

    def note(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in an entry that was written by whoever has opened the run."""
        self._take(Entry(self._last, kind, _text_of(body)))

    def _take(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        if "seconds" in body:
            self.used["seconds"] = body["seconds"]
        if "spent" in body:
            self._count(place_of(body), body["spent"])
        match entry.kind:
            case "visit" | "failed":
                self._end(place_of(body))
                self._visits.setdefault(body["frame"], deque()).append({"kind": entry.kind, **body})
                self._weight += len(entry.body)
            case "edited":
                self._visits[body["frame"]][-1]["update"] = body["update"]
            case "attempt":
                self._begin(place_of(body)).attempts = body["attempt"]
            case "effect":
                past = PastEffect(body["kind"], body["digest"], body["value"], body["own"])
                self._begin(place_of(body)).effects[body["key"]] = past
            case "suspended":
                for place, spent in body["places"].items():
                    self._begin(place)
                    self._count(place, spent)
                for request in body["requests"]:
                    self.asked[request["id"]] = stored_time(request.get("due"))
            case "answered":
                self.answers[body["request"]] = restored("an answer", body["value"])
            case _:
                self._take_beginning(entry.kind, body, len(entry.body))

    def _take_beginning(self, kind: str, body: dict[str, Any], weight: int) -> None:
        """Take in what the run begins with, or goes on from."""
        match kind:
            case "started":
                self.started = body
            case "resumed" if "definition" in body:
                self.started = {**(self.started or {}), "definition": body["definition"]}
            case "migrated":
                self._migrate(body)
            case _ if kind == SNAPSHOT:
                self.started, self.snapshot, self.used = body["started"], body, body["used"]
                self._snapshot_weight = weight

    def _migrate(self, body: Mapping[str, Any]) -> None:
        """Go on from the state of a migration; what is recorded of the visit under way stays, by its new name."""
        self.started = {**(self.started or {}), "definition": body["definition"], "migrated": True}
        self.snapshot = dict(body)
        old, new = str(body["under_way"][0]), str(body["under_way"][1])
        was, now = f"{self._claim.run_id}{old}", f"{self._claim.run_id}{new}"

        def moved(place: str) -> str:
            return new + place.removeprefix(old)

        self._visits = {
            moved(at): found for at, found in self._visits.items() if at and is_below(at, old)
        }
        self._begun = {moved(at): begun for at, begun in self._begun.items() if is_below(at, old)}
        self._shares = {moved(at): used for at, used in self._shares.items() if is_below(at, old)}
        for begun in self._begun.values():
            begun.effects = {
                now + key.removeprefix(was): effect for key, effect in begun.effects.items()
            }
        for id, request in body["requests"].items():
            self.asked[request["id"]] = self.asked.get(id)
            if id in self.answers:
                self.answers[request["id"]] = self.answers.pop(id)

    def _count(self, at: str, spent: Mapping[str, float]) -> None:
        """Add what an entry says was spent to the run, and to the frames and visits that it was spent in or below."""
        for used in (self.used, *(self._shares.setdefault(frame, {}) for frame in shares_of(at))):
            for limit, amount in spent.items():
                used[limit] = used.get(limit, 0) + amount
        below = {limit: amount for limit, amount in spent.items() if limit in _LIMITED_BY_USES}
        for place in upwards(at) if below else ():
            begun = self._begin(place).spent
            for limit, amount in below.items():
                begun[limit] = begun.get(limit, 0) + amount

    def _begin(self, place: str) -> _Begun:
        return self._begun.setdefault(place, _Begun())

    def _end(self, place: str) -> None:
        """Forget what is recorded below a visit that has ended: nobody will ask for it again."""
        self._begun.pop(place, None)
        known: dict[str, Any]
        for known in (self._begun, self._shares):
            for inside in [found for found in known if is_below(found, place)]:
                del known[inside]
        for inside in [found for found in self._visits if found and is_below(found, place)]:
            del self._visits[inside]

    def visits_of(self, frame: str) -> deque[dict[str, Any]] | None:
        """The recorded visits of a frame that are still to be gone through, if there are any."""
        found = self._visits.pop(frame, None)
        if found:
            self._gone.add(frame)
        return found

    def went_through(self, frame: str) -> bool:
        """Whether visits of a frame were recorded when the run was claimed here, gone through by now or not."""
        return frame in self._gone or frame in self._visits

    def began(self, place: str) -> bool:
        """Whether a frame or a visit had begun, and had not ended, when the run was claimed here."""
        if not place:
            return self.snapshot is not None or bool(self._begun or self._visits)
        return any(is_below(found, place) for found in (*self._begun, *self._visits))

    def entering(self, frame: Frame, node: PlanNode, visit: int) -> None:
        """A visit that is not recorded is about to be made: to go on, or not, as other journals may want it."""

    def performing(self, ctx: NodeContext, kind: str, key: str) -> None:
        """An effect that is not recorded is about to be done; see `entering`."""

    def items(self, ctx: NodeContext, make: Callable[[Any], Any]) -> Any:
        """The items that a function of the state makes for a visit; see `entering`."""
        return make(ctx.frame.state)

    def effect_of(self, place: str, key: str) -> PastEffect | None:
        """The effect that was recorded under a key by a visit that has not ended."""
        begun = self._begun.get(place)
        return None if begun is None else begun.effects.get(key)

    def own_effects_at(self, place: str) -> Iterator[str]:
        """The keys of the effects that the task of a visit that has not ended did itself, in their order."""
        begun = self._begun.get(place)
        if begun is not None:
            yield from (key for key, effect in begun.effects.items() if effect.own)

    def spent_at(self, place: str) -> Mapping[str, float]:
        """What a visit that has not ended, and everything below it, is known to have spent."""
        begun = self._begun.get(place)
        return {} if begun is None else begun.spent

    def spent_in(self, frame: str) -> Mapping[str, float]:
        """What a frame that may have a share of its own, and everything below it, is known to have spent."""
        return self._shares.get(frame, {})

    def attempts_at(self, place: str) -> int:
        """How many attempts of a visit that has not ended are known to have failed."""
        begun = self._begun.get(place)
        return 0 if begun is None else begun.attempts

    def wait_at(self, place: str, record: VisitRecord) -> None:
        """Note that a visit is about to be suspended: it has begun, whatever else is recorded of it."""
        self._waiting[place] = record

    def take_waiting(self) -> dict[str, dict[str, float]]:
        """The visits that are being suspended, each with what it has spent and nothing recorded tells."""
        return {place: record.take_loose() for place, record in sorted(self._waiting.items())}

    async def write(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        status: StoredStatus | None = None,
        due: datetime | None = None,
    ) -> None:
        """Write one entry, and return when it cannot be lost any more.

        Raises:
            StaleClaim: Another driver has taken the run over.
            StoreError: It could not be written; neither can anything after it.
        """
        await self._write([(kind, _text_of(body))], status, due)
        if self._waiting and kind in ("visit", "failed"):
            self._waiting.pop(place_of(body), None)

    async def write_all(
        self,
        entries: Sequence[tuple[str, Mapping[str, Any]]],
        *,
        status: StoredStatus | None = None,
    ) -> None:
        """Write several entries, all of them or none; raises as `write`."""
        await self._write([(kind, _text_of(body)) for kind, body in entries], status, None)

    def hold(self, kind: str, body: Mapping[str, Any]) -> None:
        """Write an entry together with the next one, in one piece; for what is at once followed by another."""
        self._held.append((kind, _text_of(body)))
        self._waiting.pop(place_of(body), None)

    def when_written(self, call: Callable[[], None]) -> None:
        """Call `call` as soon as what is held has been written; at once if nothing is."""
        if self._held:
            self._untold.append(call)
        else:
            call()

    async def give_back(self, status: StoredStatus, *, due: datetime | None = None) -> None:
        """Stop driving the run without an entry of its own; raises as `write`."""
        if self._broken is None:
            await self._write([], status, due)
            return
        # Nothing can be added any more, but whoever can write again is to go on.
        await self._turn.take()
        try:
            await self._store.append(self._claim, [], status=status, due=due)
        finally:
            self._turn.pass_on()

    async def _write(
        self, texts: Sequence[tuple[str, str]], status: StoredStatus | None, due: datetime | None
    ) -> None:
        # What is to be written has happened, so it is written although its run was cancelled.
        if not self._turn.take_at_once():
            await self._turn.take()
        try:
            if self._broken is not None:
                # Whether the last write has happened is not known: what follows it must not be written on a guess.
                raise self._broken
            if self._held:
                texts, self._held = [*self._held, *texts], []
            last, entries = self._last, []
            for kind, text in texts:
                # A snapshot stands beside the entries, under the number of the last that it sums up.
                last += kind != SNAPSHOT
                entries.append(Entry(last, kind, text))
            try:
                await self._store.append(self._claim, entries, status=status, due=due)
            except BaseException as error:
                self._broken = self._what_broke(error)
                raise
            self._last = last
        finally:
            self._turn.pass_on()
        for kind, text in texts:
            if kind in ("visit", "failed"):
                self._weight += len(text)
        while self._untold:
            self._untold.pop(0)()

    def _what_broke(self, error: BaseException) -> StoreError:
        if isinstance(error, StoreError):
            return error
        cut = StoreError(f"a write to run {self._claim.run_id!r} was cut off")
        cut.__cause__ = error
        return cut

    @property
    def wants_snapshot(self) -> bool:
        """Whether so much has been written since the last snapshot that another is worth its bytes.

        Snapshots come when the entries since the last weigh more than it does: so all of them together weigh no more than a
        few times the entries, however long a run grows.
        """
        return self._weight > max(_LEAST_WEIGHT, self._snapshot_weight)

    def put_off_snapshot(self) -> None:
        """Want none until as much has been written again."""
        self._weight = 0

    async def write_snapshot(self, body: Mapping[str, Any]) -> None:
        """Write everything up to here, in place of earlier snapshots."""
        text = _text_of({"started": self.started, **body})
        await self._write([(SNAPSHOT, text)], None, None)
        self._weight, self._snapshot_weight = 0, len(text)


_LIMITED_BY_USES: Final = ("model_calls", "tool_calls")
"""What the visits around one have a limit for, too."""

_LEAST_WEIGHT: Final = 64 * 1024
"""Bytes of entries below which no snapshot is taken: they are gone through in no time."""


def _text_of(body: Mapping[str, Any]) -> str:
    try:
        return to_json(body).decode()
    except ValueError:
        # The message of an error may hold a lone surrogate, which no database takes; as an escape it does. And what is nested
        # deeper than pydantic goes is JSON all the same.
        return json.dumps(body, separators=(",", ":"))
