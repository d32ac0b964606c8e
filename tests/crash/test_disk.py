"""A full disk and a torn file: a named error, no wrong state, and the run goes on afterwards."""

from __future__ import annotations

import pytest

from tests.crash.bench import Bench, Benches
from tests.crash.death import MOMENTS, FullDisk, Write
from tests.crash.pieces.dice import Dice
from tests.crash.scale import some
from tests.crash.verdict import CHECKS, OUTCOME, problems

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("store", ["sqlite"])]


@pytest.mark.parametrize("seed", some(0.5))
def test_a_run_that_meets_a_full_disk_is_left_at_its_last_record(
    benches: Benches, seed: int
) -> None:
    calm = benches.first.calm(seed)

    def work(bench: Bench, room: int) -> list[str]:
        if not bench.database.exists():
            bench.calm(seed)
        tale = bench.hit(seed, [FullDisk(bench.database.stat().st_size + room)])
        told = [line.data["error"] for line in tale.told("stopped")]
        unnamed = [error for error in told if "SQLite store" not in error]
        return [*unnamed, *problems(calm.case(tale, 1), CHECKS)]

    found = benches.each(range(50_000, 300_000, 60_000), work)
    assert not found, f"seed {seed}: {found}"


@pytest.mark.parametrize("seed", some(0.5))
def test_a_run_whose_log_is_torn_goes_on_from_what_is_left(benches: Benches, seed: int) -> None:
    """As a machine leaves it that has lost its power: what was done since may be done again, and all ends as it would have."""
    calm = benches.first.calm(seed)
    dice = Dice(f"tears {seed}")

    def tear(bench: Bench) -> None:
        log = bench.database.with_name(f"{bench.database.name}-wal")
        if log.exists():
            with log.open("r+b") as file:
                file.truncate(dice.number(0, log.stat().st_size))

    plans = [[Write(dice.number(1, calm.tale.writes), dice.one_of(MOMENTS))] for _ in range(5)]
    found = benches.judge(calm, plans, checks=OUTCOME, between=tear)
    assert not found, f"seed {seed}: {found}"
