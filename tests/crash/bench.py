"""Where a seed is tried: a cradle, a store, and the world outside of it; several of them work beside each other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from tests.crash.cradle import Cradle
from tests.crash.death import Death, Instant
from tests.crash.draw import draw
from tests.crash.interpreter import Interpreters
from tests.crash.order import Order, Way
from tests.crash.pieces.dice import Dice
from tests.crash.tale import Tale
from tests.crash.verdict import CHECKS, Case, Check, problems

__all__ = ["ENDS", "LIVED", "Bench", "Benches", "Calm", "Tally"]

P = TypeVar("P")

_WAYS: Final[tuple[Way, ...]] = ("start", "recover", "answer")
_OUTAGES: Final = (0.0, 0.0, 1.0, 50.0, 90_000.0)
"""Seconds between the death of a process and the birth of the next; some are longer than any wait."""

LIVED: Final = ("exited 0",)
"""How a process ends that has done its work."""

ENDS: Final = (*LIVED, "killed 9")
"""The same, or it was killed."""


@dataclass(slots=True)
class Tally:
    """What was done, for the report."""

    lives: int = 0
    kills: int = 0


@dataclass(frozen=True, slots=True)
class Calm:
    """What happens without any death.

    Args:
        seed: Draws the workflow.
        tale: What is told of it.
        took: How many seconds it takes.
    """

    seed: int
    tale: Tale
    took: float

    def case(self, hit: Tale, deaths: int) -> Case:
        """What happened with deaths, beside it."""
        drawn = draw(self.seed)
        return Case(self.tale, hit, deaths, abreast=drawn.abreast, races=drawn.races)


@dataclass(slots=True)
class Bench:
    """A place for one process after the other.

    Args:
        cradle: Where they come from.
        url: The store.
        log: The world's file.
        flaw: What is broken in the product, if anything is.
    """

    cradle: Cradle | Interpreters
    url: str
    log: Path
    flaw: str | None = None
    tally: Tally = field(default_factory=Tally)

    @property
    def database(self) -> Path:
        """The file of an SQLite store."""
        return Path(self.url.removeprefix("sqlite:///").partition("?")[0])

    def calm(self, seed: int) -> Calm:
        """What happens without any death or flaw."""
        self.log.unlink(missing_ok=True)
        began = time.monotonic()
        pid = self.cradle.start(Order(seed=seed, url=self.url, log=str(self.log), last=True))
        self.end(pid, LIVED)
        return Calm(seed, Tale.of(self.log), time.monotonic() - began)

    def hit(
        self,
        seed: int,
        deaths: Sequence[Death],
        *,
        took: float = 0.0,
        between: Callable[[Bench], object] = lambda bench: None,
    ) -> Tale:
        """What happens when one process after the other dies, and a last one does not.

        Args:
            seed: Draws the workflow.
            deaths: How they die.
            took: How many seconds an undisturbed process takes.
            between: What is done after each death.
        """
        dice = Dice(f"{seed} {deaths}")
        self.log.unlink(missing_ok=True)
        for life, death in enumerate(deaths, 1):
            way, outage = dice.one_of(_WAYS), dice.one_of(_OUTAGES)
            pid = self.start(seed, life, death=death, way=way, outage=outage)
            self.end(pid, seconds=death.fraction * took if isinstance(death, Instant) else None)
            between(self)
        outage = dice.one_of(_OUTAGES)
        way = dice.one_of(_WAYS)
        self.end(self.start(seed, len(deaths) + 1, way=way, outage=outage, last=True), LIVED)
        return Tale.of(self.log)

    def start(self, seed: int, life: int, **options: Any) -> int:
        """Have a process begin to live; takes what an `Order` takes, and gives the process id."""
        return self.cradle.start(
            Order(
                seed=seed,
                url=self.url,
                log=str(self.log),
                life=life,
                flaw=self.flaw,
                **options,
            )
        )

    def end(self, pid: int, ends: Sequence[str] = ENDS, *, seconds: float | None = None) -> str:
        """Wait for the end of a process, which must be one of `ends`; after so many seconds it is killed."""
        ended = self.cradle.wait(pid, seconds)
        self.tally.lives += 1
        self.tally.kills += ended == "killed 9"
        assert ended in ends, f"a process has {ended}; what it said stands above"
        return ended

    def go_on(self, pid: int) -> None:
        """Let a process go on, if it was stopped, and wait for its end."""
        os.kill(pid, signal.SIGCONT)
        self.end(pid, LIVED)


class Benches:
    """Several benches, for many plans at the same time.

    Args:
        benches: Each with a store of its own.
    """

    def __init__(self, benches: Sequence[Bench]) -> None:
        self._benches = benches
        self._free: SimpleQueue[Bench] = SimpleQueue()
        for bench in benches:
            self._free.put(bench)

    @property
    def first(self) -> Bench:
        """One of them."""
        return self._benches[0]

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return sum(bench.tally.kills for bench in self._benches)

    def each(self, plans: Iterable[P], work: Callable[[Bench, P], list[str]]) -> str:
        """Do `work` for each plan, each at some bench; gives all that was found, told so that it can be tried again."""

        def at_a_bench(plan: P) -> str:
            bench = self._free.get()
            try:
                return "".join(f"{plan}: {found}\n" for found in work(bench, plan))
            finally:
                self._free.put(bench)

        with ThreadPoolExecutor(len(self._benches)) as pool:
            return "".join(pool.map(at_a_bench, plans))

    def judge(
        self,
        calm: Calm,
        plans: Iterable[Sequence[Death]],
        *,
        checks: Sequence[Check] = CHECKS,
        between: Callable[[Bench], object] = lambda bench: None,
    ) -> str:
        """What is wrong after the deaths of each plan; empty when nothing is."""

        def work(bench: Bench, deaths: Sequence[Death]) -> list[str]:
            hit = bench.hit(calm.seed, deaths, took=calm.took, between=between)
            return problems(calm.case(hit, len(deaths)), checks)

        return self.each(plans, work)
