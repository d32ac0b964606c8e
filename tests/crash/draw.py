"""Draws a workflow and everything about it from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from agentflow import Budget, Workflow
from tests.crash.pieces.abreast import Beside, Each, First
from tests.crash.pieces.acts import Act, Keep, Leave, Mend, Retried
from tests.crash.pieces.calls import Agent, Talk, Use
from tests.crash.pieces.composites import Fork, Repeat, Sub, rounds
from tests.crash.pieces.dice import Dice, Draw
from tests.crash.pieces.piece import flow
from tests.crash.pieces.waits import Ask, Interview, Wait

__all__ = ["IN_ROUNDS", "ONE_OF_EVERYTHING", "SIDE_BY_SIDE", "SPECIMENS", "Drawn", "draw"]

SIMPLE: Final[list[Draw]] = [
    Act.draw,
    Agent.draw,
    Ask.draw,
    Interview.draw,
    Keep.draw,
    Mend.draw,
    Retried.draw,
    Talk.draw,
    Use.draw,
    Wait.draw,
]
"""Pieces that hold no others, each as likely as the next."""

COMPOSITE: Final[list[Draw]] = [
    Beside.draw,
    Each.draw,
    First.draw,
    Fork.draw,
    Repeat.draw,
    Sub.draw,
]
"""Pieces that hold others."""

ABREAST: Final[frozenset[type]] = frozenset({Beside, Each, First})
"""Those of them that hold several which run at the same time."""

DEPTH: Final = 3
"""How many levels of pieces there are."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a seed has drawn.

    Args:
        workflow: The workflow.
        runs: The ids of the runs that a process drives at the same time.
        backend: The event loop.
        budget: The limits of each run.
        untidy: Whether snapshots are taken, and SQLite's log is carried over, all the time.
        abreast: Whether some of it happens at the same time, so that what is first may differ.
        races: Whether some of that is a race, the loser of which may not even begin, so that its visits may be missing.
    """

    workflow: Workflow[list[str]]
    runs: tuple[str, ...]
    backend: str
    budget: Budget | None
    untidy: bool
    abreast: bool
    races: bool


@cache
def draw(seed: int) -> Drawn:
    """The same for the same seed, in every process; one of the specimens for a seed below 0."""
    if seed < 0:
        return SPECIMENS[seed]
    dice = Dice(seed, SIMPLE, COMPOSITE, DEPTH)
    pieces = dice.pieces(2, 4)
    if dice.chance(0.1):
        pieces = (*pieces, Leave.draw(dice))
    id, times = f"drawn-{seed}", dice.number(2, 3)
    runs = ("r", "s", "t") if dice.chance(0.1) else ("r",)
    abreast = bool(dice.kinds & ABREAST)
    budget = Budget(visits=dice.number(4, 12)) if dice.chance(0.1) else None
    return Drawn(
        workflow=rounds(id, pieces[:2], times, times) if dice.chance(0.2) else flow(id, pieces),
        runs=runs,
        backend=dice.one_of(["asyncio", "trio"]),
        # Where several spend at the same time, it is chance who finds nothing left.
        budget=None if abreast else budget,
        untidy=dice.chance(0.5),
        abreast=abreast or len(runs) > 1,
        races=First in dice.kinds,
    )


def _specimen(workflow: Workflow[list[str]], backend: str, *, abreast: bool = False) -> Drawn:
    return Drawn(workflow, ("r",), backend, None, untidy=True, abreast=abreast, races=abreast)


ONE_OF_EVERYTHING: Final = -1
IN_ROUNDS: Final = -2
SIDE_BY_SIDE: Final = -3

SPECIMENS: Final = {
    ONE_OF_EVERYTHING: _specimen(
        flow(
            "everything",
            (
                Act(2, threaded=False),
                Retried(2, 2.5, within=True),
                Mend(2),
                Keep(3),
                Talk(2, streamed=True),
                Agent("fetch 1, falter 2, pay 3 | pay_soon 4"),
                Interview(2),
                Ask(None),
                Wait(4.0, declared=False),
                Wait(86_400.0, declared=True),
                Fork((Act(1, threaded=True), Mend(1))),
                Repeat((Use("pay", 5),), 2, 2),
                Sub((Sub((Act(1, threaded=False),), retried=True),), retried=False),
            ),
        ),
        "asyncio",
    ),
    IN_ROUNDS: _specimen(
        rounds("rounds", (Act(1, threaded=False), Mend(1), Interview(1)), 3, 3), "trio"
    ),
    SIDE_BY_SIDE: _specimen(
        rounds(
            "beside",
            (
                Beside(
                    (
                        (Act(3, threaded=False), Wait(60.0, declared=False)),
                        (Retried(1, 2.5, within=True), Use("pay", 2)),
                        (Each((Interview(1),), 3, made=True),),
                    )
                ),
                First((Act(1, threaded=False), Talk(1, streamed=False))),
            ),
            2,
            2,
        ),
        "trio",
        abreast=True,
    ),
}
"""Workflows that were not drawn, by a number in place of a seed."""
