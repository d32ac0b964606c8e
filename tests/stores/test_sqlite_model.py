"""Whatever is asked of SQLite in whatever order, it answers as the memory store does."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import SNAPSHOT, Claim, Entry, RunInfo, StoredStatus
from agentflow.stores.memory import MemoryStore
from agentflow.stores.sqlite import SqliteStore
from agentflow.testing.store_check import BORN, new_run

RUN_IDS = st.sampled_from(["a", "b", "c"])
DRIVERS = st.sampled_from([0, 1])
HOURS = st.integers(0, 3).map(lambda hours: BORN + timedelta(hours=hours))
STATUSES: list[StoredStatus] = [
    "running",
    "suspended",
    "interrupted",
    "completed",
    "failed",
    "cancelled",
]
SLIPS = st.sampled_from([0] * 8 + [-1, 1])


@dataclass
class Held:
    """A claim that somebody may still try to use, in both stores, and the driver that got it."""

    driver: int
    real: Claim
    model: Claim


class Stores(RuleBasedStateMachine):
    """Two drivers of one file beside one memory store."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="model-"))
        self.portal_manager = start_blocking_portal("asyncio")
        self.portal = self.portal_manager.__enter__()
        self.model = MemoryStore()
        self.drivers = [self.opened(), self.opened()]
        self.held: list[Held] = []

    def opened(self) -> SqliteStore:
        store = SqliteStore(self.folder / "runs.db", durability="relaxed")
        self.portal.call(store.open)
        return store

    def teardown(self) -> None:
        for store in self.drivers:
            self.portal.call(store.close)
        self.portal_manager.__exit__(None, None, None)
        shutil.rmtree(self.folder)

    def both(self, driver: int, call: Callable[[Any], Awaitable[Any]]) -> tuple[Any, Any]:
        return self.answer(self.drivers[driver], call), self.answer(self.model, call)

    def answer(self, store: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            return self.portal.call(call, store)
        except StoreError as error:
            return type(error)

    @rule(driver=DRIVERS, run_id=RUN_IDS, new=st.booleans(), suspended=st.booleans(), created=HOURS)
    def claim(self, driver: int, run_id: str, new: bool, suspended: bool, created: Any) -> None:
        made = new_run(created=created) if new else None
        real, model = self.both(
            driver, lambda store: store.claim(run_id, new=made, suspended=suspended)
        )
        assert timeless(real) == timeless(model)
        if isinstance(real, Claim):
            self.held.append(Held(driver, real, model))

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(),
        count=st.integers(0, 3),
        slip=SLIPS,
        snapshot=SLIPS,
        status=st.none() | st.sampled_from(STATUSES),
        due=st.none() | HOURS,
        text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    )
    def append(
        self, data: Any, count: int, slip: int, snapshot: int, status: Any, due: Any, text: str
    ) -> None:
        held = data.draw(st.sampled_from(self.held))
        infos = self.answer(self.model, lambda store: store.find(run_id=held.real.run_id))
        last = infos[0].last if infos else 0
        body = json.dumps(text, ensure_ascii=False)
        given = [Entry(last + 1 + at + slip, "visit", body) for at in range(count)]
        if snapshot:
            given.append(Entry(max(0, last + count + snapshot - 1), SNAPSHOT, body))
        due = due if status == "suspended" else None
        real = self.answer(
            self.drivers[held.driver],
            lambda store: store.append(held.real, given, status=status, due=due),
        )
        model = self.answer(
            self.model, lambda store: store.append(held.model, given, status=status, due=due)
        )
        assert real == model
        if real is StaleClaim:
            self.held.remove(held)

    @rule(driver=DRIVERS, run_id=RUN_IDS, after=st.none() | st.integers(0, 6))
    def read(self, driver: int, run_id: str, after: int | None) -> None:
        real, model = self.both(driver, lambda store: store.read(run_id, after=after))
        assert real == model

    @rule(
        driver=DRIVERS,
        run_id=st.none() | RUN_IDS,
        status=st.none() | st.sampled_from(STATUSES),
        due=st.none() | HOURS,
        limit=st.integers(0, 4),
    )
    def find(self, driver: int, run_id: Any, status: Any, due: Any, limit: int) -> None:
        real, model = self.both(
            driver, lambda store: store.find(run_id=run_id, status=status, due=due, limit=limit)
        )
        assert [timeless(info) for info in real] == [timeless(info) for info in model]

    @rule(driver=DRIVERS, run_id=RUN_IDS)
    def prune_one(self, driver: int, run_id: str) -> None:
        real, model = self.both(driver, lambda store: store.prune(run_id=run_id))
        assert real == model
        # A run of the same id begins with epoch 1 again, and nobody keeps claims of one that they have deleted.
        self.held = [held for held in self.held if held.real.run_id != run_id]

    @rule(driver=DRIVERS, statuses=st.sets(st.sampled_from(STATUSES), max_size=3))
    def prune(self, driver: int, statuses: set[StoredStatus]) -> None:
        real, model = self.both(driver, lambda store: store.prune(statuses=statuses))
        assert real == model
        left = {info.run_id for info in self.answer(self.model, lambda store: store.find())}
        self.held = [held for held in self.held if held.real.run_id in left]

    @rule(driver=DRIVERS, again=st.booleans())
    def close(self, driver: int, again: bool) -> None:
        store = self.drivers[driver]
        self.portal.call(store.close)
        for held in self.held:
            if held.driver == driver:
                self.answer(self.model, partial(given_back, held.model))
        self.held = [held for held in self.held if held.driver != driver]
        if again:
            self.portal.call(store.open)
        else:
            self.drivers[driver] = self.opened()

    @invariant()
    def both_know_the_same_runs(self) -> None:
        for driver in (0, 1):
            real, model = self.both(driver, lambda store: store.find())
            assert [timeless(info) for info in real] == [timeless(info) for info in model]


async def given_back(claim: Claim, store: MemoryStore) -> None:
    await store.append(claim, [], status="interrupted")


def timeless(answer: Any) -> Any:
    """An answer without the time of the last write, which differs between two stores."""
    if isinstance(answer, Claim):
        return replace(answer, info=timeless(answer.info))
    if isinstance(answer, RunInfo):
        return replace(answer, updated=BORN)
    return answer


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=40, stateful_step_count=25)
