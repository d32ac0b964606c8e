"""What one visit has done and spent so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from agentflow.run.loop import current_task
from agentflow.run.stored import restored

if TYPE_CHECKING:
    from agentflow.run.journal import Journal

__all__ = ["Recorded", "VisitRecord", "add_to"]


def add_to(amounts: dict[str, float], limit: str, amount: float) -> None:
    """Count an amount of a limit."""
    amounts[limit] = amounts.get(limit, 0) + amount


class Recorded(NamedTuple):
    """An effect that was done: its kind, the digest of its request, its value, and whether the visit's own task did it."""

    kind: str
    digest: str
    value: Any
    own: bool


class VisitRecord:
    """What one visit has done so far: its effects by key, and what it spent, attempts included.

    Args:
        journal: The journal of a durable run, which may know more from before a crash.
        place: The place of the visit.

    Attributes:
        spent: What the visit, and everything below it, has spent.
        loose: What of that belongs to nothing that is recorded yet, and to no effect that is under way.
        task: The task that runs the visit's body, where that is not the frame's own.
    """

    __slots__ = (
        "_awaited",
        "_doers",
        "_effects",
        "_journal",
        "_place",
        "loose",
        "spent",
        "task",
    )

    def __init__(self, journal: Journal | None = None, place: str = "") -> None:
        self._effects: dict[str, Recorded] = {}
        # Who does the effects that are under way; and an event for each that somebody else waits for.
        self._doers: dict[str, object] = {}
        self._awaited: dict[str, anyio.Event] = {}
        self._journal = journal
        self._place = place
        self.task: int | None = None
        self.spent: dict[str, float] = {} if journal is None else dict(journal.spent_at(place))
        self.loose: dict[str, float] = {}

    @property
    def is_blank(self) -> bool:
        """Whether nothing is recorded of the visit, and nothing was before a crash."""
        return not self._effects and self._journal is None

    def find(self, key: str) -> Recorded | None:
        """The effect that was recorded under `key`.

        Raises:
            IncompatibleRun: Its value cannot be restored.
        """
        known = self._effects.get(key)
        if known is None and self._journal is not None:
            past = self._journal.effect_of(self._place, key)
            if past is not None:
                value = restored(f"the {past.kind} effect {key!r}", past.data)
                known = self._effects[key] = Recorded(past.kind, past.digest, value, past.own)
        return known

    def keep(self, key: str, recorded: Recorded) -> None:
        """Record an effect that was done."""
        self._effects[key] = recorded

    def lose(self, spent: Mapping[str, float]) -> None:
        """Count what was spent in or below the visit by what is not recorded itself: it failed, or was cancelled."""
        for limit, amount in spent.items():
            add_to(self.loose, limit, amount)

    def take_loose(self) -> dict[str, float]:
        """What is to be recorded with the next entry of the visit."""
        loose, self.loose = self.loose, {}
        return loose

    def own_keys(self) -> Iterator[str]:
        """The keys of the effects that the visit's own task has done, before a crash and since, in their order."""
        if self._journal is not None:
            yield from self._journal.own_effects_at(self._place)
        yield from (key for key, effect in self._effects.items() if effect.own)

    async def take(self, key: str) -> None:
        """Be the one who does the effect `key`, once nobody else does it any more; given back by `release`.

        Raises:
            RuntimeError: The calling task does it already, and would wait for itself for ever.
        """
        task = current_task()
        while (doer := self._doers.get(key)) is not None:
            if doer is task:
                raise RuntimeError(f"the effect {key!r} is asked for by the code that does it")
            await self._awaited.setdefault(key, anyio.Event()).wait()
        self._doers[key] = task

    def release(self, key: str) -> None:
        """Have the next one do the effect `key`, or find it done."""
        del self._doers[key]
        awaited = self._awaited.pop(key, None)
        if awaited is not None:
            awaited.set()
