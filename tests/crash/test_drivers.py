"""Several processes at one run: one that was overtaken writes nothing more, and those who come at the same time drive it once."""

from __future__ import annotations

import pytest

from tests.crash.bench import LIVED, Bench, Benches, Calm
from tests.crash.death import Write
from tests.crash.draw import ONE_OF_EVERYTHING
from tests.crash.pieces.dice import Dice
from tests.crash.scale import STORES, some
from tests.crash.tale import Tale
from tests.crash.verdict import CHECKS, OUTCOME, problems

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("store", STORES)]


def overtaken(bench: Bench, calm: Calm, at: int) -> list[str]:
    """What is wrong when a process is stopped before a write, taken for dead, and wakes up when another one has done its work."""
    bench.log.unlink(missing_ok=True)
    sleeper = bench.start(calm.seed, 1, driver="sleeper", death=Write(at, "before", stop=True))
    asleep = bench.end(sleeper, ("stopped", *LIVED)) == "stopped"
    bench.end(bench.start(calm.seed, 2, driver="other"), LIVED)
    done = len(Tale.of(bench.log).lines)
    if asleep:
        bench.go_on(sleeper)
    after = Tale.of(bench.log).lines[done:]
    bench.end(bench.start(calm.seed, 3, driver="last", last=True), LIVED)
    tale = Tale.of(bench.log)
    late = [line for line in after if line.what in ("do", "acknowledged", "got", "told")]
    wrong = [f"the sleeper went on: {late}"] if late else []
    return [*wrong, *problems(calm.case(tale, 1), CHECKS)]


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", [ONE_OF_EVERYTHING, *some(0.1)])
def test_a_driver_that_was_overtaken_at_any_write_does_nothing_more(
    benches: Benches, seed: int
) -> None:
    calm = benches.first.calm(seed)
    # Its last write is that it gives everything back.
    plans = range(1 + seed % 5, calm.tale.writes + 1, 5)
    found = benches.each(plans, lambda bench, at: overtaken(bench, calm, at))
    assert not found, f"seed {seed}: {found}"


def crowd(bench: Bench, calm: Calm, death: Write) -> list[str]:
    """What is wrong when several processes find the run of a dead one at the same time."""
    bench.log.unlink(missing_ok=True)
    bench.end(bench.start(calm.seed, 1, death=death))
    ways = ("recover", "start", "answer")
    pids = [bench.start(calm.seed, life, way=way) for life, way in enumerate(ways, 2)]
    for pid in pids:
        bench.end(pid, LIVED)
    bench.end(bench.start(calm.seed, 5, last=True), LIVED)
    return problems(calm.case(Tale.of(bench.log), 1), CHECKS)


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", some(0.5))
def test_those_who_find_a_run_at_the_same_time_drive_it_once(benches: Benches, seed: int) -> None:
    calm = benches.first.calm(seed)
    dice = Dice(f"crowd {seed}")
    plans = [Write(dice.number(1, calm.tale.writes), "before") for _ in range(3)]
    found = benches.each(plans, lambda bench, death: crowd(bench, calm, death))
    assert not found, f"seed {seed}: {found}"


def fight(bench: Bench, calm: Calm, names: tuple[str, ...]) -> list[str]:
    """What is wrong when several processes take each other for dead, and take the run away from each other."""
    bench.log.unlink(missing_ok=True)
    pids = [
        bench.start(calm.seed, life, driver=name, persistent=True)
        for life, name in enumerate(names, 1)
    ]
    for pid in pids:
        bench.end(pid, LIVED)
    bench.end(bench.start(calm.seed, 9, driver="last", last=True), LIVED)
    tale = Tale.of(bench.log)
    return problems(calm.case(tale, sum(1 for _ in tale.told("claimed"))), OUTCOME)


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", some(0.5))
def test_those_who_fight_for_a_run_commit_as_one(benches: Benches, seed: int) -> None:
    calm = benches.first.calm(seed)
    found = benches.each(
        [("red", "blue"), ("red", "blue", "grey")], lambda bench, names: fight(bench, calm, names)
    )
    assert not found, f"seed {seed}: {found}"
