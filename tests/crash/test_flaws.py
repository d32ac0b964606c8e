"""The proof notices what it is there for: with one piece of the product broken, it finds something wrong."""

from __future__ import annotations

import pytest

from tests.crash.bench import Bench, Benches, Calm
from tests.crash.death import MOMENTS, Write
from tests.crash.draw import IN_ROUNDS, ONE_OF_EVERYTHING
from tests.crash.flaws import FLAWS
from tests.crash.pieces.dice import Dice
from tests.crash.test_drivers import overtaken
from tests.crash.verdict import CHECKS, problems

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("store", ["sqlite"])]

OF_DRIVERS = {"nobody_is_fenced_off"}
"""Flaws that show only where a driver was overtaken."""

OF_ENDS = {"snapshots_forget_visits", "the_end_is_written_in_two_pieces"}
"""Flaws that show late in a run that has gone round."""


def deaths_of(calm: Calm) -> list[Write]:
    """All deaths at a write: of the workflow that goes round the last first, of the other in any order."""
    # Some flaws write more.
    last = calm.tale.writes + 5
    deaths = [Write(at, moment) for at in range(last, 0, -1) for moment in MOMENTS]
    return deaths if calm.seed == IN_ROUNDS else Dice("flaws").shuffled(deaths)


def is_noticed(bench: Bench, flaw: str) -> bool:
    """Whether anything is found wrong with the flaw in the product."""
    late = flaw in OF_ENDS or flaw in OF_DRIVERS
    calm = bench.calm(IN_ROUNDS if late else ONE_OF_EVERYTHING)
    bench.flaw = flaw
    if flaw in OF_DRIVERS:
        return any(overtaken(bench, calm, at) for at in range(10, 15))
    for death in deaths_of(calm):
        try:
            hit = bench.hit(calm.seed, [death])
        except AssertionError:
            # Not even the last process came to an end.
            return True
        if problems(calm.case(hit, 1), CHECKS):
            return True
    return False


@pytest.mark.parametrize("flaw", sorted(FLAWS))
def test_a_flaw_is_noticed(benches: Benches, flaw: str) -> None:
    assert is_noticed(benches.first, flaw)
