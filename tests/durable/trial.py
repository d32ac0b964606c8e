"""A trial: one run killed at chosen writes, process after process, and compared with a run that nobody disturbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentflow import Budget, Engine, RunInterrupted, Workflow
from agentflow.errors import StoreError
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore
from tests.durable.workflows import World

__all__ = ["Outcome", "Trial"]


class Outcome(NamedTuple):
    """What came of a run."""

    result: Any
    state: Any
    used: dict[str, float]
    numbers: list[int]
    status: str


@dataclass(frozen=True)
class Trial:
    """A workflow that can be run again and again.

    Args:
        workflow: It acts on the world that it gets as `deps`.
        input: What each run is given.
        budget: What each run may spend.
        slack: How many visits and rounds may be missing after a kill: what loses a race may not even begin.
    """

    workflow: Workflow[Any]
    input: Mapping[str, Any]
    budget: Budget
    slack: int = 0

    async def drive(self, store: Any, world: World) -> Outcome | None:
        """One process that drives the run until it ends or the process dies."""
        async with Engine(self.workflow, store=store, budget=self.budget) as engine:
            async with engine.start(self.input, run_id="r", deps=world) as run:
                try:
                    result = await run.result()
                except (StoreError, RunInterrupted):
                    return None
            used = run.ledger.as_dict()
            used.pop("seconds", None)
            entries = await engine.history("r")
            (info,) = await engine.runs()
            numbers = [entry.number for entry in entries]
            return Outcome(result, dict(run.state), used, numbers, info.status)

    async def undisturbed(self, world: World) -> tuple[Outcome, int]:
        """What comes of a run that nobody kills, and how often it writes."""
        store = CrashingStore(MemoryStore(), 0, before=True)
        outcome = await self.drive(store, world)
        assert outcome is not None
        return outcome, store.writes

    async def check(
        self, deaths: Sequence[tuple[int, bool]], calm: World, world: World
    ) -> MemoryStore:
        """Kill a process at each of `deaths`, one after the other, then let a last one finish.

        Args:
            deaths: The writes at which processes die, each with whether they die before it has happened.
            calm: The world of the run that is not disturbed.
            world: The world of the run that is.
        """
        expected, _ = await self.undisturbed(calm)
        inner = MemoryStore()
        killed = 0
        for at, before in deaths:
            store = CrashingStore(inner, at, before=before)
            if await self.drive(store, world) is not None:
                break
            killed += 1
        outcome = await self.drive(CrashingStore(inner, 0, before=True), world)
        assert outcome is not None
        assert outcome.result == expected.result
        assert outcome.used.keys() == expected.used.keys()
        for limit, amount in expected.used.items():
            assert amount - self.slack <= outcome.used[limit] <= amount + self.slack
        assert outcome.numbers == list(range(1, len(outcome.numbers) + 1))
        assert outcome.status == "completed"
        assert set(world.done) == set(calm.done)
        assert sum(world.done.values()) <= sum(calm.done.values()) + killed * world.at_once
        (info,) = await inner.find()
        assert info.status == "completed"
        return inner
