"""A process that is killed at any write, or at any instant, changes nothing: another one goes on, and all ends as it would have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crash.bench import Benches, Calm
from tests.crash.conftest import EmptyStore
from tests.crash.death import MOMENTS, Death, Instant, Write
from tests.crash.draw import IN_ROUNDS, SPECIMENS
from tests.crash.interpreter import Interpreters
from tests.crash.pieces.dice import Dice
from tests.crash.scale import STORES, some
from tests.crash.verdict import CHECKS, problems

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("store", STORES)]


def deaths_at_every_write(calm: Calm, store: str) -> list[Write]:
    """Of a specimen at every moment of every write; of what was drawn at one of them, another one for each write, seed and store."""
    writes = range(1, calm.tale.writes + 1)
    if calm.seed in SPECIMENS:
        return [Write(at, moment) for at in writes for moment in MOMENTS]
    turn = calm.seed + STORES.index(store) * 2
    return [Write(at, MOMENTS[(at + turn) % len(MOMENTS)]) for at in writes]


@pytest.mark.rule("S22")
@pytest.mark.case("P043", "P055")
@pytest.mark.parametrize("seed", [*SPECIMENS, *some()])
def test_a_kill_at_any_write_changes_nothing(benches: Benches, store: str, seed: int) -> None:
    calm = benches.first.calm(seed)
    plans = [[death] for death in deaths_at_every_write(calm, store)]
    found = benches.judge(calm, plans)
    assert not found, f"seed {seed}: {found}"
    # Things that happen at the same time share a commit, or do not: the last writes are not always there.
    assert len(plans) * 0.8 <= benches.kills <= len(plans)


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", some(0.5))
def test_process_after_process_may_be_killed(benches: Benches, seed: int) -> None:
    dice = Dice(f"deaths {seed}")

    def death() -> Death:
        if dice.chance(0.3):
            return Instant(dice.number(0, 100) / 100)
        return Write(dice.number(1, 12), dice.one_of(MOMENTS))

    plans = [[death() for _ in range(dice.number(2, 6))] for _ in range(4)]
    found = benches.judge(benches.first.calm(seed), plans)
    assert not found, f"seed {seed}: {found}"


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", some(0.5))
def test_a_kill_at_any_instant_changes_nothing(benches: Benches, seed: int) -> None:
    dice = Dice(f"instants {seed}")
    plans = [[Instant(dice.number(0, 1000) / 1000)] for _ in range(8)]
    found = benches.judge(benches.first.calm(seed), plans)
    assert not found, f"seed {seed}: {found}"


def test_a_kill_while_the_tables_are_made_changes_nothing(
    benches: Benches, empty_store: EmptyStore
) -> None:
    bench = benches.first
    calm = bench.calm(IN_ROUNDS)
    for death in [Write(at, moment) for at in (1, 2, 3) for moment in MOMENTS]:
        with empty_store() as url:
            hit = replace(bench, url=url).hit(IN_ROUNDS, [death])
        found = problems(calm.case(hit, 1), CHECKS)
        assert not found, f"{death}: {found}"


@pytest.mark.parametrize("seed", some(0.1))
def test_another_interpreter_goes_on(benches: Benches, seed: int) -> None:
    """One that shares nothing with the first: no memory, and not the order of its sets."""
    bench = benches.first
    calm = bench.calm(seed)
    dice = Dice(f"interpreters {seed}")
    deaths = [Write(dice.number(4, 9), dice.one_of(MOMENTS)) for _ in range(2)]
    hit = replace(bench, cradle=Interpreters()).hit(seed, deaths)
    found = problems(calm.case(hit, len(deaths)), CHECKS)
    assert not found, f"seed {seed}, {deaths}: {found}"
