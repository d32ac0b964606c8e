"""Random pairs of definitions and real runs of the old one: what is told to be safe does go on, and what is refused is left as it was."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import event, given, strategies as st

from agentflow import ContractError, Engine, IncompatibleRun, Workflow
from agentflow.graph.compat import compared
from agentflow.run.entries import ENDED
from agentflow.run.fitting import misfit
from agentflow.run.run import Run
from agentflow.run.suspension import Request, last_suspension
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore
from tests.durable.pairs import answer, built, changed, drawn
from tests.proofs.graphs import many


async def gone_on(workflow: Workflow[Any], store: Any, chance: random.Random) -> Run[Any]:
    """One activity of the run: it begins or goes on, answering what it asks."""
    async with Engine(workflow, store=store) as engine:
        found = await engine.runs()
        waiting = found and found[0].status == "suspended"
        if not waiting:
            run = engine.start({"a": 1}, run_id="r")
        else:
            requests = await asked(store)
            some = requests if chance.random() < 0.7 else requests[:1]
            answers = {one.id: None if one.schema is None else answer(one.schema) for one in some}
            run = engine.reopen("r", answers)
        async with run:
            await run.settled()
    return run


async def asked(store: Any) -> tuple[Request, ...]:
    return last_suspension(await store.read("r", after=0)).requests


async def begun(workflow: Workflow[Any], chance: random.Random) -> MemoryStore | None:
    """What is left of a run of the old definition, driven for a while by processes that die or are asked something."""
    for longest in (12, 6, 4, 2):
        store = MemoryStore()
        for _ in range(chance.randint(1, 2)):
            crash = chance.randint(1, longest) if chance.random() < 0.6 else 0
            dying = CrashingStore(store, crash, before=chance.random() < 0.3)
            await gone_on(workflow, dying, chance)
        (info,) = await store.find()
        if info.last and info.status not in ENDED:
            return store
    return None


@given(st.integers(0, 2**64))
@many(150)
async def test_what_is_safe_goes_on_and_what_is_refused_is_left_as_it_was(seed: int) -> None:
    chance = random.Random(seed)
    flow = drawn(chance)
    old, new = built(flow), built(changed(chance, flow))
    store = await begun(old, chance)
    if store is None:
        event("ended before")
        return
    (info,) = await store.find()
    before = await store.read("r", after=0)
    comparison = compared(old, new)
    reason = await misfit(new, info, await store.read("r"))
    event(f"{comparison.verdict}, {'fits' if reason is None else 'does not fit'}")
    if comparison.verdict == "safe":
        assert reason is None, (reason, flow)
    if reason is not None:
        run = await gone_on(new, store, chance)
        assert isinstance(run._error, IncompatibleRun), run._error
        assert await store.read("r", after=0) == before
        assert [(one.status, one.due) for one in await store.find()] == [(info.status, info.due)]
        return
    for _ in range(20):
        run = await gone_on(new, store, chance)
        assert not isinstance(run._error, IncompatibleRun | ContractError), repr(run._error)
        (info,) = await store.find()
        if info.status in ENDED:
            break
    assert info.status in ENDED
