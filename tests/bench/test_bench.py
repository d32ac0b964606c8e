"""The benchmark: what a cell says, when a peer is n/a, and that our own programs do the work."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from bench import environments, harness
from bench.harness import Cell, Competitor, Results, ask, competitor, measure, taking_part
from bench.marks import marks
from bench.peer import Peer
from bench.peers import FLOOR, OURS
from bench.run import main
from bench.scenarios import FIELDS, SCENARIOS, Gate, Scenario
from bench.suites import ALL, NAMES, TAKING_PART
from bench.table import render

MEASURED_HERE = [FLOOR, OURS]


def peer(name: str) -> Peer:
    return cast("Peer", importlib.import_module(f"bench.peers.{name}"))


def silent(_text: str) -> None:
    pass


def results(**values: tuple[list[float], list[float]]) -> Results:
    """Results of scenarios by id, each with the rounds of the floor and of agentflow."""
    cells = {}
    for scenario, (floor, ours) in values.items():
        cells[scenario, FLOOR] = Cell([{"value": value} for value in floor])
        cells[scenario, OURS] = Cell([{"value": value} for value in ours])
    chosen = [scenario for scenario in SCENARIOS if scenario.id in values]
    return Results(chosen, [Competitor(FLOOR, "bare loop"), Competitor(OURS, "agentflow")], cells)


def test_a_ratio_pairs_the_numbers_of_the_same_round() -> None:
    # The machine was ten times slower in the second round, for both.
    floor = Cell([{"value": 1.0}, {"value": 10.0}, {"value": 1.0}])
    ours = Cell([{"value": 8.0}, {"value": 80.0}, {"value": 9.0}])
    assert ours.ratio(floor) == 8.0


def test_a_cell_without_rounds_has_neither_median_nor_ratio() -> None:
    assert Cell(reason="does not install").median() is None
    assert Cell().ratio(Cell([{"value": 1.0}])) is None


def test_a_process_that_fails_gives_its_last_words_as_the_reason() -> None:
    code = "import sys; print('first', file=sys.stderr); sys.exit('no such peer')"
    assert ask(Path(sys.executable), ["-c", code], timeout=60) == "no such peer"


def test_a_peer_that_does_not_install_is_not_available_and_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> Path:
        raise environments.NotInstalled("no matching distribution")

    monkeypatch.setattr(harness, "python_of", refuse)
    burr = competitor("burr", silent)
    found = measure([SCENARIOS[0]], [burr], 1, silent)
    text = render(found, marks(found), 1)
    assert "n/a burr: does not install: no matching distribution" in text


def test_the_floor_is_measured_first_whatever_the_order_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def note(cell: Cell, scenario: object, one: Competitor) -> None:
        asked.append(one.name)
        cell.rounds.append({"value": 1.0})

    monkeypatch.setattr(harness, "measure_once", note)
    measure([SCENARIOS[0]], [Competitor(OURS, OURS), Competitor(FLOOR, FLOOR)], 2, silent)
    assert asked == [FLOOR, OURS, FLOOR, OURS]


def test_a_failed_round_takes_the_whole_cell_away(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = [{"measured": {"value": 1.0}}, "it crashed"]
    monkeypatch.setattr(harness, "ask", lambda *args, **options: told.pop(0))
    here = Competitor(OURS, OURS, python=Path(sys.executable))
    cell = measure([SCENARIOS[0]], [here], 3, silent).cell(SCENARIOS[0].id, OURS)
    assert (cell.rounds, cell.reason) == ([], "it crashed")
    assert told == []


@pytest.mark.parametrize(("ours", "met"), [(15.0, True), (15.1, False)])
def test_the_mark_of_the_chain_is_fifteen_times_the_floor(ours: float, met: bool) -> None:
    first, *_ = marks(results(chain=([1.0], [ours])))
    assert first.met is met


def test_a_mark_that_was_not_measured_is_neither_met_nor_missed() -> None:
    assert {mark.met for mark in marks(results())} == {None}


def test_a_list_that_grows_dearer_misses_its_mark() -> None:
    cells = {("wide", OURS): Cell([{"value": 3.0, "start": 2.0, "end": 4.0}])}
    found = [mark for mark in marks(Results([], [], cells)) if mark.met is not None]
    assert [(mark.found, mark.met) for mark in found] == [("2.00 times", False)]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MEASURED_HERE])
def test_every_peer_has_a_module_and_pinned_versions(name: str) -> None:
    for suite in [suite for suite, names in TAKING_PART.items() if name in names]:
        assert (Path(harness.__file__).parent / suite / f"{name}.py").exists()
    pinned = (environments.REQUIREMENTS / f"{name}.txt").read_text().split()
    assert {line.count("==") for line in pinned} == {1}


@pytest.mark.parametrize("scenario", ALL, ids=[scenario.id for scenario in ALL])
def test_a_competitor_is_measured_in_the_suites_that_it_takes_part_in(scenario: Scenario) -> None:
    everybody = [Competitor(name, name) for name in NAMES]
    names = [one.name for one in taking_part(scenario, everybody)]
    assert names == [name for name in NAMES if name in TAKING_PART[scenario.suite]]
    assert names[:2] == [FLOOR, OURS]


@pytest.mark.parametrize("name", MEASURED_HERE)
def test_the_programs_measured_here_do_the_work(name: str) -> None:
    async def work() -> None:
        one = peer(name)
        assert await one.chain(10)(0) == 10
        assert await one.chain(10, yielding=True)(5) == 15
        assert await one.loop(30)(0) == 30
        branch = one.branch(20)
        assert [await branch(way) for way in range(20)] == [20 + way for way in range(20)]
        visits: list[None] = []
        assert await one.wide(FIELDS, 60, lambda: visits.append(None))(0) == 60
        assert len(visits) == 60
        assert await one.fan(7)(2) == 21

    asyncio.run(work())
    assert peer(name).define(20) is not None
    assert peer(name).first() is not None


@pytest.mark.parametrize("name", MEASURED_HERE)
def test_a_waiting_run_ends_by_the_cancel_that_is_measured(name: str) -> None:
    async def work() -> None:
        gate = Gate(expected=1)
        run, stop = peer(name).start(peer(name).waiting(gate.hold))
        await gate.full.wait()
        stop()
        await asyncio.wait([run])
        assert run.cancelled() or run.exception() is not None

    asyncio.run(work())


@pytest.mark.parametrize("name", MEASURED_HERE)
def test_the_items_whose_memory_is_measured_all_wait_at_the_same_time(name: str) -> None:
    async def work() -> None:
        gate = Gate(expected=100)
        run = asyncio.ensure_future(peer(name).fan(100, gate.hold)(0))
        await gate.full.wait()
        gate.opened.set()
        assert await run == 100

    asyncio.run(work())


def test_what_runs_beside_every_competitor_needs_the_standard_library_alone() -> None:
    code = "import sys; sys.path.insert(0, '.'); import bench.cell"
    command = [sys.executable, "-I", "-S", "-c", code]
    subprocess.run(command, check=True, cwd=environments.ROOT, timeout=60)


def test_the_command_prints_a_table_with_the_marks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--peers", "floor", "--scenarios", "chain", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "chain of 10" in printed
    assert "Marks" in printed


def test_an_unknown_scenario_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--scenarios", "chian"])
    told = capsys.readouterr().err
    assert "chian is not one of chain" in told
