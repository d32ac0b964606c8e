"""The journal of a run: what was done, entry by entry, written before the run goes on, and gone through again after a crash.

Because routing is a function of committed state and everything else is an effect, the entries are enough: a run that is
opened again makes the same visits from them, without running a body, and goes on where they end.

Kinds of entries: `started` (the input), `visit` (a committed update and the route taken), `failed` (a failure and its error node),
`attempt` (a failed try, another follows), `effect` (the recorded result of an effect), `resumed` (another driver took over), `suspended`
(what the run waits for), `answered` (an answer), `ended` (the result or the error), and `snapshot` (everything up to here, so that opening need not go further back).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import ContractError, IncompatibleRun
from agentflow.graph.codec import Unstorable, decoded, encoded
from agentflow.run.entries import SNAPSHOT, Claim, Entry, StoredStatus

if TYPE_CHECKING:
    from agentflow.run.frame import Frame
    from agentflow.run.ports import Store

__all__ = ["Journal", "PastEffect", "stored"]


def stored(where: str, value: Any) -> Any:
    """A value in its stored form.

    Raises:
        ContractError: It has none, or would not come back as it is; says `where` it stands.
    """
    try:
        return encoded(value)
    except Unstorable as error:
        raise ContractError(f"{where} cannot be stored: {error}") from error


def restored(where: str, data: Any) -> Any:
    """A value from its stored form.

    Raises:
        IncompatibleRun: The code of today cannot make it.
    """
    try:
        return decoded(data)
    except Unstorable as error:
        raise IncompatibleRun(f"{where} cannot be restored: {error}") from error


@dataclass(frozen=True, slots=True)
class PastEffect:
    """An effect as it was recorded: where, its kind, the digest of its request, its value, and what its visit had spent."""

    place: str
    kind: str
    digest: str
    data: Any
    spent: Mapping[str, float]


@dataclass(slots=True)
class _Past:
    """What earlier entries say, by frame and by visit, until it has been gone through."""

    visits: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    effects: dict[str, PastEffect] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)


class Journal:
    """The journal of one run while it is driven from here.

    Args:
        store: Where it lives.
        claim: The right to write to it.
        entries: What it holds already, from the latest snapshot on.
    """

    def __init__(self, store: Store, claim: Claim, entries: Sequence[Entry]) -> None:
        self._store = store
        self._claim = claim
        self._last = claim.info.last
        self._turn = anyio.Lock()
        self._past = _Past()
        self._weight = 0
        self._snapshot_weight = 0
        self.started: dict[str, Any] | None = None
        self.snapshot: dict[str, Any] | None = None
        self.used: dict[str, float] = {}
        self.answers: dict[str, Any] = {}
        self.requests: tuple[dict[str, Any], ...] = ()
        for entry in entries:
            self._take(entry)

    @property
    def resumed(self) -> bool:
        """Whether the run had begun before it was claimed here."""
        return self.started is not None

    def _take(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        self.used = body.get("used", self.used)
        match entry.kind:
            case "started":
                self.started = body
            case "visit" | "failed":
                self._past.visits.setdefault(body["frame"], deque()).append(
                    {"kind": entry.kind, **body}
                )
                self._weight += len(entry.body)
            case "answered":
                self.answers[body["request"]] = restored("an answer", body["value"])
            case "suspended":
                self.requests = tuple(body["requests"])
            case "attempt":
                self._past.attempts[_visit_key(body)] = body["attempt"]
            case "effect":
                self._past.effects[body["key"]] = PastEffect(
                    body["place"], body["kind"], body["digest"], body["value"], body["spent"]
                )
            case _ if entry.kind == SNAPSHOT:
                self.started, self.snapshot = body["started"], body
                self._snapshot_weight = len(entry.body)

    def visits_of(self, frame: str) -> deque[dict[str, Any]] | None:
        """The recorded visits of a frame that are still to be gone through, if there are any."""
        return self._past.visits.pop(frame, None)

    def began(self, place: str) -> bool:
        """Whether anything below a place (a frame, or a visit as `frame/node#visit`) was recorded and not gone through yet."""
        if not place:
            return bool(self.used)
        past = self._past
        inside = f"{place}/"
        return (
            any(frame == place or frame.startswith(inside) for frame in past.visits)
            or place in past.attempts
            or any(effect.place.startswith(inside) for effect in past.effects.values())
        )

    def effect_of(self, key: str) -> PastEffect | None:
        """The effect that was recorded under a key by a visit that has not ended."""
        return self._past.effects.get(key)

    def effects_below(self, prefix: str) -> list[PastEffect]:
        """The recorded effects whose keys begin so, in the order in which they were recorded."""
        return [effect for key, effect in self._past.effects.items() if key.startswith(prefix)]

    def attempts_of(self, frame: Frame, node: str, visit: int) -> int:
        """How many attempts of a visit that has not ended are known to have failed."""
        key = _visit_key({"frame": frame.path, "node": node, "visit": visit})
        return self._past.attempts.get(key, 0)

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
            StoreError: It could not be written.
        """
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        # A write that has begun is seen to its end: a cancel between the store and the acknowledgement would leave it unknown.
        with anyio.CancelScope(shield=True):
            async with self._turn:
                entry = Entry(self._last + 1, kind, text)
                await self._store.append(self._claim, [entry], status=status, due=due)
                self._last += 1
        if kind in ("visit", "failed"):
            self._weight += len(text)

    async def give_back(self, status: StoredStatus) -> None:
        """Stop driving the run without an entry of its own."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await self._store.append(self._claim, [], status=status)

    @property
    def wants_snapshot(self) -> bool:
        """Whether so much has been written since the last snapshot that another is worth its bytes.

        Snapshots come when the entries since the last weigh more than it does: so all of them together weigh no more than a
        few times the entries, however long a run grows.
        """
        return self._weight > max(_LEAST_WEIGHT, self._snapshot_weight)

    async def write_snapshot(self, body: Mapping[str, Any]) -> None:
        """Write everything up to here, in place of earlier snapshots."""
        text = json.dumps(
            {"started": self.started, **body}, ensure_ascii=False, separators=(",", ":")
        )
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await self._store.append(self._claim, [Entry(self._last, SNAPSHOT, text)])
        self._weight, self._snapshot_weight = 0, len(text)


_LEAST_WEIGHT = 64 * 1024
"""Bytes of entries below which no snapshot is taken: they are gone through in no time."""


def _visit_key(body: Mapping[str, Any]) -> str:
    return f"{body['frame']}/{body['node']}#{body['visit']}"
