"""The durable rows of the benchmark: fair floors, marks, and that our own programs do the work that is measured."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import run
from bench.durable import agentflow, floor
from bench.durable.place import Sqlite
from bench.durable.raw import BODY, writing
from bench.durable.scenarios import BATCH, DURABLE, Alternation
from bench.harness import Cell, Competitor, Results
from bench.marks import Mark, marks
from bench.peers import FLOOR, OURS
from bench.run import main
from bench.table import render

HERE: list[Any] = [floor, agentflow]
"""The modules that need nothing but what the tests need."""


@pytest.fixture
def place(tmp_path: Path) -> Sqlite:
    return Sqlite(tmp_path / "runs.db", "NORMAL")


def met(mark: str, **cells: list[dict[str, float]]) -> Mark:
    """The mark whose title begins so, from what agentflow came to in some scenarios."""
    found = Results([], [], {(id, OURS): Cell(rounds) for id, rounds in cells.items()})
    return next(one for one in marks(found) if one.title.startswith(mark))


def test_the_floor_writes_what_agentflow_writes_for_a_visit(place: Sqlite) -> None:
    async def work() -> list[str]:
        async with agentflow.storing(place) as store:
            program = await agentflow.loop(store, 600, lambda: None)
            await program(0)
            (info,) = await store.store.find()
            return [entry.body for entry in await store.store.read(info.run_id, after=0)]

    # The first entry is the input.
    written = asyncio.run(work())[500]
    assert abs(len(written) - len(BODY)) <= 2
    before, after = BODY.split("0.123456")
    assert written.startswith(before)
    assert written.endswith(after)


def test_the_raw_row_is_written_in_the_mode_that_is_measured(place: Sqlite) -> None:
    full = Sqlite(place.path, "FULL")
    for number, one in enumerate((place, full)):
        with writing(one, f"raw{number}") as write:
            write(1)
        with closing(sqlite3.connect(place.path.with_name(f"raw{number}.db"))) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("SELECT body FROM raw").fetchall() == [(BODY,)]


@pytest.mark.parametrize("keeper", HERE, ids=lambda keeper: keeper.TITLE)
def test_the_programs_measured_here_do_the_work_durably(keeper: Any, place: Sqlite) -> None:
    stamps: list[None] = []

    async def work() -> None:
        async with keeper.storing(place) as store:
            assert await (await keeper.loop(store, 30, lambda: stamps.append(None)))(0) == 30
            assert await (await keeper.line(store, 10))(5) == 15
            assert await (await keeper.talk(store, 20, lambda: stamps.append(None)))(0) == 20
            assert await (await keeper.fan(store, 7))(2) == 21

    asyncio.run(work())
    assert len(stamps) == 50


@pytest.mark.parametrize("talking", [False, True], ids=["counting", "talking"])
@pytest.mark.parametrize("keeper", HERE, ids=lambda keeper: keeper.TITLE)
def test_a_run_that_was_left_goes_on_with_its_last_visit(
    keeper: Any, talking: bool, place: Sqlite
) -> None:
    stamps: list[None] = []

    async def work() -> None:
        await keeper.leave(place, 40, talking=talking)
        gone_on = keeper.go_on(place, 40, lambda: stamps.append(None), talking=talking)
        assert await gone_on == 41

    asyncio.run(work())
    assert len(stamps) == 1


def test_a_run_that_asks_is_suspended(place: Sqlite) -> None:
    async def work() -> list[str]:
        async with agentflow.storing(place) as store:
            ask = await agentflow.asking(store)
            await asyncio.gather(*(ask(x) for x in range(5)))
            return [info.status for info in await store.store.find()]

    assert asyncio.run(work()) == ["suspended"] * 5


def test_raw_writes_and_visits_take_turns() -> None:
    written: list[int] = []
    times = Alternation(written.append)
    for _ in range(3 * BATCH + 1):
        times.stamp()
    # Three batches of visits, of which the first is left out; a batch of raw writes before each, and one after the last.
    assert (len(times.visits), len(times.raw)) == (2, 4)
    assert written == list(range(4 * BATCH))


@pytest.mark.parametrize(
    ("mark", "cells", "verdict"),
    [
        ("a visit, SQLite full", {"full": [{"value": 5.0, "raw": 2.0}]}, True),
        ("a visit, SQLite full", {"full": [{"value": 5.1, "raw": 2.0}]}, False),
        ("a visit, SQLite relaxed", {"relaxed": [{"value": 6.1, "raw": 2.0}]}, False),
        ("a visit, PostgreSQL", {"postgresql": [{"value": 4.1, "raw": 2.0}]}, False),
        ("1,000 durable runs", {"many_full": [{"value": 1.0, "alone": 8.0}]}, True),
        ("1,000 durable runs", {"many_full": [{"value": 1.0, "alone": 7.9}]}, False),
        ("10,000 suspended", {"suspended": [{"value": 0.1, "blocks": 0.1}]}, True),
        ("10,000 suspended", {"suspended": [{"value": 0.1, "blocks": 1.0}]}, False),
        ("a durable visit", {"growing": [{"value": 1.0, "start": 1.0, "end": 1.3}]}, False),
    ],
)
def test_a_durable_mark_is_met_up_to_its_limit(
    mark: str, cells: dict[str, list[dict[str, float]]], verdict: bool
) -> None:
    assert met(mark, **cells).met is verdict


def test_stored_bytes_are_compared_with_those_of_the_messages() -> None:
    for kib, verdict in ((299.0, True), (300.0, False)):
        cells = {
            ("growing", FLOOR): Cell([{"value": 100.0}]),
            ("growing", OURS): Cell([{"value": kib, "start": 1.0, "end": 1.0}]),
        }
        (found,) = [mark for mark in marks(Results([], [], cells)) if "stored" in mark.title]
        assert found.met is verdict


def test_a_ratio_is_that_to_the_raw_writes_beside_the_visits() -> None:
    full = next(scenario for scenario in DURABLE if scenario.id == "full")
    ours = Competitor(OURS, "agentflow")
    cells = {
        ("full", FLOOR): Cell([{"value": 100.0, "raw": 100.0, "size": 500}]),
        ("full", OURS): Cell([{"value": 30.0, "raw": 10.0, "size": 500}]),
    }
    found = Results([full], [Competitor(FLOOR, "bare loop"), ours], cells)
    text = render(found, marks(found), 1)
    assert "30.0 (3.00x)" in text
    assert "insert and commit" in text


def test_without_a_server_its_rows_are_left_out_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def no_server() -> Iterator[str]:
        yield "there are no programs of a server here"

    monkeypatch.setattr(run, "serving", no_server)
    assert main(["--quick", "--scenarios", "chain,postgresql", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "n/a visit, PostgreSQL: there are no programs of a server here" in printed
    assert "chain of 10" in printed
