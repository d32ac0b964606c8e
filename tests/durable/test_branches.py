"""Branches in durable runs: killed at any write, at whatever pace, they end as if nothing had happened."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies

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
