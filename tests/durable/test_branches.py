"""Branches in durable runs: killed at any write, at whatever pace, they end as if nothing had happened."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from agentflow import Engine, define_workflow, map_each, node, route
from agentflow.stores.memory import MemoryStore
from tests.durable.abreast import BUDGET, INPUT, Paced, abreast
from tests.durable.trial import Trial

TRIAL = Trial(abreast(), INPUT, BUDGET, slack=4)
"""Four races, one for each name in each round."""


@pytest.mark.case("P053")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_a_kill_at_any_write_changes_nothing(before: bool) -> None:
    _, writes = await TRIAL.undisturbed(Paced(0))
    assert writes > 40
    for at in range(1, writes + 1):
        await TRIAL.check([(at, before)], Paced(1), Paced(at))


@settings(max_examples=30)
@given(
    deaths=strategies.lists(
        strategies.tuples(strategies.integers(1, 30), strategies.booleans()), max_size=6
    ),
    seed=strategies.integers(0, 1_000_000),
)
async def test_any_number_of_kills_at_any_pace_changes_nothing(
    deaths: list[tuple[int, bool]], seed: int
) -> None:
    await TRIAL.check(deaths, Paced(seed), Paced(seed + 1))


async def test_no_item_belongs_to_the_task_that_the_visit_began_in() -> None:
    # What that task does has an order, which a resumed run is held to; which worker takes an item is chance.
    @node(requires=["x"], provides=["y"], routes=[route.deliver("y")])
    async def work(state: Any) -> Any:
        return {"y": state["x"]}

    per_item = define_workflow("per-item", nodes=[work], inputs=["x"])
    each = map_each(
        "each",
        per_item,
        over=lambda state: iter("abc"),
        item="x",
        into="ys",
        concurrency=2,
        routes=[route.deliver("ys")],
    )
    store = MemoryStore()
    async with Engine(define_workflow("mapped", nodes=[each], inputs=[]), store=store) as engine:
        assert await engine.run({}, run_id="r") == ["a", "b", "c"]
        entries = [json.loads(entry.body) for entry in await store.read("r", after=0)]
    items = [body["own"] for body in entries if body.get("kind") == "item"]
    assert items == [False, False, False]
