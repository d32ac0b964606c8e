"""A PostgreSQL server that is started anew, or goes away, in the middle of a run: a named error, and the run is recovered, nothing recorded being done again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.crash.bench import LIVED, Bench
from tests.crash.cradle import Cradle
from tests.crash.death import MOMENTS, Write
from tests.crash.draw import ONE_OF_EVERYTHING
from tests.crash.pieces.dice import Dice
from tests.crash.scale import some
from tests.crash.tale import Tale
from tests.crash.verdict import CHECKS, problems
from tests.stores.conftest import empty_schema
from tests.stores.postgres_server import PostgresServer

pytestmark = pytest.mark.crash

Back = Literal["at once", "when the process waits", "when the process is gone"]
BACK: tuple[Back, ...] = ("at once", "when the process waits", "when the process is gone")


@pytest.fixture
def bench(
    cradles: list[Cradle], postgres_server: PostgresServer, tmp_path: Path
) -> Iterator[Bench]:
    """A bench on a server that a test may stop; nobody else works there meanwhile."""
    with empty_schema(postgres_server.url) as url:
        yield Bench(cradles[0], url, tmp_path / "log")


def outage(bench: Bench, server: PostgresServer, seed: int, death: Write, back: Back) -> Tale:
    """What happens when the server goes away while a process is at a write, and comes back some time."""
    bench.log.unlink(missing_ok=True)
    patient = back != "when the process is gone"
    pid = bench.start(seed, 1, death=death, way="recover", waits=patient)
    bench.end(pid, ("stopped",))
    server.stop()
    try:
        if back == "at once":
            server.start()
        os.kill(pid, signal.SIGCONT)
        # It has met an error, and waits until somebody has seen to it; or it has not, because there was nothing more to do.
        if bench.end(pid, ("stopped", *LIVED)) == "stopped":
            server.start()
            bench.go_on(pid)
    finally:
        server.start()
    bench.end(bench.start(seed, 2, way="recover", last=True), LIVED)
    return Tale.of(bench.log)


@pytest.mark.rule("S22")
@pytest.mark.parametrize("back", BACK)
@pytest.mark.parametrize("seed", [ONE_OF_EVERYTHING, *some(0.1)])
def test_a_server_that_goes_away_in_mid_run_costs_nothing(
    bench: Bench, postgres_server: PostgresServer, seed: int, back: Back
) -> None:
    calm = bench.calm(seed)
    dice = Dice(f"outages {seed} {back}")
    for moment in MOMENTS:
        # Not while the store is opened, which is refused, nor while it is closed, which is not told.
        death = Write(dice.number(4, calm.tale.writes - 2), moment, stop=True)
        tale = outage(bench, postgres_server, seed, death, back)
        told = [line.data["error"] for line in tale.told("stopped")]
        assert told, f"seed {seed}, {death}: the process has not noticed"
        assert all("PostgreSQL store" in error for error in told), told
        found = problems(calm.case(tale, 1), CHECKS)
        assert not found, f"seed {seed}, {death}: {found}"
