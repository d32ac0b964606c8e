"""Runs every cell in a fresh process, repeats interleaved, and folds them to medians and ratios paired by round."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.environments import ROOT, NotInstalled, last_line, python_of
from bench.peers import FLOOR
from bench.scenarios import Measured, Scenario
from bench.suites import TAKING_PART, suite_of

Progress = Callable[[str], None]

DESCRIBE = """
import importlib, importlib.metadata, json
peer = importlib.import_module("bench.{suite}.{name}")
version = peer.DISTRIBUTION and importlib.metadata.version(peer.DISTRIBUTION)
print(json.dumps([peer.TITLE, version]))
"""


@dataclass(frozen=True, slots=True)
class Competitor:
    """One column of the table; `python` is `None` when it cannot run, and `reason` says why."""

    name: str
    title: str
    version: str | None = None
    python: Path | None = None
    reason: str | None = None


@dataclass(slots=True)
class Cell:
    """What one competitor took in one scenario, a dict a round; empty, with a reason, when it is n/a."""

    rounds: list[Measured] = field(default_factory=list)
    reason: str | None = None

    def median(self, key: str = "value") -> float | None:
        """The median over the rounds of one measured number."""
        return statistics.median(measured[key] for measured in self.rounds) if self.rounds else None

    def ratio(self, other: Cell, key: str = "value", other_key: str = "value") -> float | None:
        """The median of this cell's number over the other's, each pair from the same round."""
        pairs = list(zip(self.rounds, other.rounds, strict=False))
        if not pairs or any(not theirs[other_key] for _, theirs in pairs):
            return None
        return statistics.median(mine[key] / theirs[other_key] for mine, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything one run of the benchmark measured."""

    scenarios: Sequence[Scenario]
    competitors: Sequence[Competitor]
    cells: dict[tuple[str, str], Cell]
    absent: Sequence[str] = ()
    """Lines about what could not be measured here at all."""

    def cell(self, scenario: str, competitor: str) -> Cell:
        """The cell of a scenario and a competitor; an empty one when it was not asked for."""
        return self.cells.get((scenario, competitor), Cell(reason="not measured"))


def competitor(name: str, progress: Progress) -> Competitor:
    """Prepare one competitor: its environment, title and version. Never raises for one that does not install."""
    progress(f"preparing {name}")
    try:
        python = python_of(name)
    except NotInstalled as error:
        return Competitor(name, name, reason=f"does not install: {error}")
    done = ask(python, ["-c", DESCRIBE.format(suite=suite_of(name), name=name)], timeout=60)
    match done:
        case [str(title), str() | None as version]:
            return Competitor(name, title, version, python)
    return Competitor(name, name, reason=str(done))


def measure(
    scenarios: Sequence[Scenario],
    competitors: Sequence[Competitor],
    repeats: int,
    progress: Progress,
) -> Results:
    """Measure every cell `repeats` times; the floor stands first in each round so that all share its moment."""
    ordered = sorted(competitors, key=lambda one: one.name != FLOOR)
    cells = {
        (s.id, c.name): Cell(reason=c.reason) for s in scenarios for c in taking_part(s, ordered)
    }
    for number in range(1, repeats + 1):
        for scenario in scenarios:
            for one in taking_part(scenario, ordered):
                cell = cells[scenario.id, one.name]
                if cell.reason is None:
                    progress(f"round {number} of {repeats}: {scenario.title}, {one.title}")
                    measure_once(cell, scenario, one)
    return Results(scenarios, competitors, cells)


def taking_part(scenario: Scenario, competitors: Iterable[Competitor]) -> list[Competitor]:
    """Those of the competitors that take part in the suite of a scenario, in their order."""
    names = TAKING_PART[scenario.suite]
    return [one for one in competitors if one.name in names]


def measure_once(cell: Cell, scenario: Scenario, one: Competitor) -> None:
    assert one.python is not None
    told = ask(one.python, ["-m", "bench.cell", one.name, scenario.id], timeout=scenario.timeout)
    match told:
        case {"measured": dict(measured)}:
            cell.rounds.append(measured)
        case {"absent": str(reason)} | str(reason):
            # One failed round spoils the pairing of all, so the cell as a whole is n/a.
            cell.rounds.clear()
            cell.reason = reason


def ask(python: Path, arguments: Iterable[str], timeout: float) -> object:
    """What a fresh process prints as JSON on its last line; a plain text is the reason why there is none."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            [str(python), *arguments],
            check=False,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout:.0f} s"
    if done.returncode:
        return last_line(done.stderr) or f"ended with exit code {done.returncode}"
    answer: object = json.loads(done.stdout.strip().splitlines()[-1])
    return answer
