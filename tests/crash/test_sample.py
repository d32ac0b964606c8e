"""A sample of the proof, for every run of the tests; `make crash` is all of it."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.crash.bench import Bench, Benches
from tests.crash.death import MOMENTS, Instant, Write
from tests.crash.draw import IN_ROUNDS, ONE_OF_EVERYTHING, SPECIMENS
from tests.crash.scale import STORES
from tests.crash.test_drivers import overtaken
from tests.crash.test_flaws import OF_DRIVERS, is_noticed
from tests.crash.test_restart import bench, outage
from tests.crash.verdict import CHECKS, problems
from tests.stores.postgres_server import PostgresServer

__all__ = ["bench"]


@pytest.mark.rule("S22")
@pytest.mark.case("P043", "P055")
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", SPECIMENS)
def test_a_kill_at_some_write_or_instant_changes_nothing(benches: Benches, seed: int) -> None:
    calm = benches.first.calm(seed)
    places = range(3, calm.tale.writes, calm.tale.writes // 4)
    plans = [[Write(at, moment)] for at, moment in zip(places, cycle(MOMENTS), strict=False)]
    found = benches.judge(calm, [*plans, [Instant(0.5), Write(4, "within")]])
    assert not found, f"seed {seed}: {found}"


@pytest.mark.rule("S22")
@pytest.mark.parametrize("store", STORES)
def test_a_driver_that_was_overtaken_does_nothing_more(benches: Benches) -> None:
    calm = benches.first.calm(IN_ROUNDS)
    assert not overtaken(benches.first, calm, calm.tale.writes // 2)


@pytest.mark.rule("S22")
def test_a_server_that_goes_away_costs_nothing(
    bench: Bench, postgres_server: PostgresServer
) -> None:
    calm = bench.calm(ONE_OF_EVERYTHING)
    death = Write(calm.tale.writes // 3, "after", stop=True)
    tale = outage(bench, postgres_server, calm.seed, death, "when the process waits")
    assert [line for line in tale.told("stopped") if "PostgreSQL store" in line.data["error"]]
    assert not problems(calm.case(tale, 1), CHECKS)


@pytest.mark.parametrize("store", ["sqlite"])
@pytest.mark.parametrize("flaw", ["effects_are_forgotten", *OF_DRIVERS])
def test_a_flaw_is_noticed(benches: Benches, flaw: str) -> None:
    assert is_noticed(benches.first, flaw)
