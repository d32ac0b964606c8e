"""The results as one readable table, and as JSON."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Iterable, Iterator
from typing import Any

from bench.harness import Cell, Competitor, Results, taking_part
from bench.marks import Mark
from bench.peers import FLOOR
from bench.scenarios import Scenario

VERDICTS = {True: "met", False: "MISSED", None: "n/a"}


def render(results: Results, marks: Iterable[Mark], repeats: int) -> str:
    """The whole answer: the machine, the table, why cells are n/a, and the marks."""
    suites = dict.fromkeys(scenario.suite for scenario in results.scenarios)
    grids = [grid(results, suite) for suite in suites]
    blocks = [[machine(repeats)], *grids, notes(results), verdicts(marks)]
    return "\n\n".join(text for block in blocks if (text := "\n".join(block)))


def machine(repeats: int) -> str:
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores{load}; medians of {repeats}; (n x) = times the first column"
    )


CAPTIONS = {
    "peers": "in memory",
    "durable": "durable",
    "calls": "model calls",
    "tools": "tools and extras",
    "agents": "agents",
}
FLOORS = {
    "peers": "bare loop",
    "durable": "insert and commit",
    "calls": "the SDK",
    "tools": "pydantic",
    "agents": "bare loop",
}


def grid(results: Results, suite: str) -> Iterator[str]:
    """The table of one suite: its scenarios, and those competitors that take part in it."""
    scenarios = [scenario for scenario in results.scenarios if scenario.suite == suite]
    competitors = taking_part(scenarios[0], results.competitors)
    rows = [[CAPTIONS[suite], "", *(heading(one, suite) for one in competitors)]]
    for scenario in scenarios:
        floor = results.cell(scenario.id, FLOOR)
        cells = [
            shown(scenario, one, results.cell(scenario.id, one.name), floor) for one in competitors
        ]
        rows.append([scenario.title, scenario.unit, *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join([*left, *right]).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in widths)


def heading(one: Competitor, suite: str) -> str:
    if one.name == FLOOR:
        return FLOORS[suite]
    return f"{one.title} {one.version}" if one.version else one.title


def shown(scenario: Scenario, one: Competitor, cell: Cell, floor: Cell) -> str:
    value = cell.median()
    if value is None:
        return "n/a"
    ratio = None
    if scenario.ratio and one.name != FLOOR:
        # Where the floor was measured between the visits themselves, that pairing is the closer one.
        beside = "raw" in cell.rounds[0]
        ratio = cell.ratio(cell, "value", "raw") if beside else cell.ratio(floor)
    return significant(value) if ratio is None else f"{significant(value)} ({significant(ratio)}x)"


def significant(number: float) -> str:
    """Three digits at most: more would claim a precision that no shared machine has."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    if abs(number) >= 10:
        return f"{number:.1f}"
    return f"{number:.2f}"


def notes(results: Results) -> Iterator[str]:
    """Why a cell is n/a, and where a size was smaller than the row says."""
    yield from results.absent
    for one in results.competitors:
        if one.reason is not None:
            yield f"n/a {one.title}: {one.reason}"
            continue
        for scenario in results.scenarios:
            if not taking_part(scenario, [one]):
                continue
            cell = results.cell(scenario.id, one.name)
            size, name = cell.median("size"), heading(one, scenario.suite)
            if cell.reason is not None:
                yield f"n/a {name}, {scenario.title}: {cell.reason}"
            elif size is not None and size != scenario.size:
                less = f"size {size:,.0f} instead of {scenario.size:,}"
                yield f"{less}: {name}, {scenario.title}"


def verdicts(marks: Iterable[Mark]) -> Iterator[str]:
    found = list(marks)
    width = max(len(mark.title) for mark in found)
    yield "Marks"
    for mark in found:
        yield f"  {VERDICTS[mark.met]:<6}  {mark.title:<{width}}  {mark.found}"


def as_json(results: Results, marks: Iterable[Mark], repeats: int) -> dict[str, Any]:
    """Every number of the run, round by round, for later comparison."""
    return {
        "machine": machine(repeats),
        "competitors": {
            one.name: {"title": one.title, "version": one.version, "reason": one.reason}
            for one in results.competitors
        },
        "scenarios": {
            scenario.id: {
                "title": scenario.title,
                "unit": scenario.unit,
                "cells": {
                    one.name: dataclasses.asdict(results.cell(scenario.id, one.name))
                    for one in results.competitors
                },
            }
            for scenario in results.scenarios
        },
        "marks": [dataclasses.asdict(mark) for mark in marks],
    }
