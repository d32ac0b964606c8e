"""Killed at any write, before or after it, a run of any kind ends as if nothing had happened, and tells nothing twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import pytest

from agentflow import Engine
from agentflow.mock import MockModel
from agentflow.run import journal
from agentflow.run.entries import ENDED
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore
from tests.durable.shelf import SHELF, Place, Sample, double, model
from tests.run.watching import Recorder

Death = tuple[int, bool]


class Life(NamedTuple):
    """All processes that a run lives through, and what is there afterwards."""

    store: MemoryStore
    place: Place
    model: MockModel
    seen: Recorder
    run: Run[Any]
    writes: int

    @property
    def end(self) -> Any:
        """What the journal says of the end."""
        return json.loads(self.store._runs["r"].entries[-1].body)

    @property
    def told(self) -> Counter[Any]:
        """How often each thing was told that is recorded: what only begins may begin again."""
        kinds = {"node.committed", "node.failed", "route.taken", "node.retried"}
        return Counter(
            (fact.kind, fact.run_id, fact.node_id, fact.visit, fact.attempt)
            for fact in self.seen.facts
            # A failure that ends the run is recorded with its end.
            if fact.kind in kinds and fact.data.get("handler", "") is not None
        )


async def life(sample: Sample, deaths: list[Death]) -> Life:
    """Drive a run until it has ended; one process after the other dies at the writes of `deaths`."""
    store, place, provider, seen, clock = (
        *(MemoryStore(), Place(), model(), Recorder(), FixedClock()),
    )
    workflow = sample.make()
    options: dict[str, Any] = {"deps": place, "observers": [seen]}
    for at, before in [*deaths, (0, True)]:
        mortal = CrashingStore(store, at, before=before)
        async with Engine(
            workflow, store=mortal, clock=clock, model=provider, tools=[double]
        ) as engine:
            run = engine.start(sample.input, run_id="r", **options)
            while True:
                async with run:
                    await run.settled()
                if run.status != "suspended":
                    break
                if run.requests:
                    first = run.requests[0]
                    answers = {first.id: sample.answers[first.key]}
                    run = engine.reopen("r", answers, **options)
                else:
                    assert run.due is not None
                    clock.advance((run.due - clock.now()).total_seconds())
                    run = engine.start(run_id="r", **options)
        if run.status in ENDED:
            return Life(store, place, provider, seen, run, mortal.writes)
    raise AssertionError(f"the run came to no end: {run.status}, {run._error!r}")


def check(calm: Life, hit: Life, deaths: int) -> None:
    """Compare the life of a run that was killed with a calm one."""
    assert hit.end == calm.end
    assert hit.run.status == calm.run.status
    assert dict(hit.run.state) == dict(calm.run.state)
    assert hit.run.ledger.as_dict() == calm.run.ledger.as_dict()
    (info,) = [kept.info for kept in hit.store._runs.values()]
    assert info.status == calm.run.status
    numbers = [entry.number for entry in hit.store._runs["r"].entries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert set(hit.place.done) == set(calm.place.done)
    assert sum(hit.place.done.values()) <= sum(calm.place.done.values()) + deaths
    assert len(hit.place.attempts) <= len(calm.place.attempts) + deaths
    assert len(hit.model.requests) <= len(calm.model.requests) + deaths
    assert max(hit.told.values(), default=1) == 1
    assert hit.told.keys() <= calm.told.keys()
    assert sum(fact.parent_run_id is None for fact in hit.seen.of("run.started")) <= 1


@pytest.mark.rule("R258", "R260")
@pytest.mark.case("P043", "P055", "T027")
@pytest.mark.parametrize("snapshots", [False, True], ids=["whole", "snapshots"])
@pytest.mark.parametrize("name", SHELF)
async def test_a_kill_at_any_write_changes_nothing(
    name: str, snapshots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if snapshots:
        monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)
    sample = SHELF[name]
    calm = await life(sample, [])
    for at in range(1, calm.writes + 1):
        for before in (True, False):
            check(calm, await life(sample, [(at, before)]), 1)


@pytest.mark.parametrize("name", SHELF)
async def test_process_after_process_may_die(name: str) -> None:
    sample = SHELF[name]
    calm = await life(sample, [])
    for at in range(1, calm.writes + 1, 3):
        deaths = [(at, False), (2, False), (2, True), (3, True), (4, False), (1, True)]
        check(calm, await life(sample, deaths), len(deaths))
