"""Several processes on one store: killed drivers are taken over at once, and those who fight for a run commit as one."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import anyio
import pytest

from agentflow.run.entries import Claim, RunInfo
from agentflow.run.registry import load_store
from agentflow.testing.store_check import claimed, entries, opened, the_run
from tests.crash.scale import some

ROOT = Path(__file__).parents[2]
SEEDS = some(0.1, least=4)


@contextmanager
def process(work: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that does some work, killed in the end if that is needed."""
    command = [sys.executable, "-m", "tests.stores.driver_process", work, *arguments]
    running = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        with running:
            try:
                yield running
            finally:
                running.kill()
    finally:
        running.wait()


def lines_of(running: subprocess.Popen[str]) -> IO[str]:
    assert running.stdout is not None
    return running.stdout


def finished(running: subprocess.Popen[str]) -> list[str]:
    """The lines of a process that ends well."""
    said, complaint = running.communicate(timeout=120)
    assert running.returncode == 0, complaint
    return said.splitlines()


@pytest.fixture(params=["sqlite-full", "sqlite-relaxed", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        there: str = request.getfixturevalue("postgresql_url")
        return there
    return f"sqlite:///{tmp_path}/runs.db?durability={request.param.removeprefix('sqlite-')}"


@pytest.mark.rule("S22")
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_killed_driver_is_taken_over_at_once_and_nothing_acknowledged_is_lost(
    url: str, seed: int, anyio_backend_name: str
) -> None:
    acknowledged = kill_after(url, random.Random(seed).randrange(1, 40), anyio_backend_name)
    async with opened(lambda: load_store(url)) as store:
        assert (await the_run(store)).status == "interrupted"
        claim = await store.claim("run")
        assert isinstance(claim, Claim), f"not taken over: {claim}"
        assert claim.info.last in (acknowledged, acknowledged + 1)
        assert await store.read("run") == entries(1, claim.info.last)
        await store.append(claim, entries(claim.info.last + 1), status="completed")


def kill_after(url: str, count: int, backend: str) -> int:
    """Kill a driver when it has said `count` numbers; gives the last one that it has said."""
    with process("drive", url, backend) as driver:
        lines = lines_of(driver)
        for _ in range(count):
            assert next(lines, ""), driver.stderr and driver.stderr.read()
        driver.kill()
        driver.wait()
        return max([count, *(int(line) for line in lines if line.endswith("\n"))])


@pytest.mark.rule("S22")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_two_processes_that_fight_for_a_run_commit_as_one(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    if kind == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    with (
        process("fight", url, "red", "5") as red,
        process("fight", url, "blue", "5") as blue,
    ):
        for running in (red, blue):
            assert next(lines_of(running), "") == "ready\n", (
                running.stderr and running.stderr.read()
            )
        for running in (red, blue):
            assert running.stdin is not None
            print("go", file=running.stdin, flush=True)
        said = [line.split() for running in (red, blue) for line in finished(running)]
    assert [line[0] for line in said].count("lost") >= 5
    wrote = {int(line[1]): int(line[2]) for line in said if line[0] == "wrote"}
    async with opened(lambda: load_store(url)) as store:
        found = await store.read("run", after=0)
    assert [entry.number for entry in found] == list(range(1, len(found) + 1))
    bodies = [json.loads(entry.body) for entry in found]
    epochs = [body["epoch"] for body in bodies]
    assert epochs == sorted(epochs)
    assert len({(body["epoch"], body["by"]) for body in bodies}) == len(set(epochs))
    assert wrote == {entry.number: epoch for entry, epoch in zip(found, epochs, strict=True)}


def test_a_child_that_outlives_its_driver_does_not_keep_it_alive(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    async def claim() -> object:
        async with opened(lambda: load_store(url)) as store:
            return await store.claim("run")

    with process("hold", url) as driver:
        child = int(next(lines_of(driver)))
        try:
            assert isinstance(anyio.run(claim), RunInfo)
            driver.kill()
            driver.wait()
            assert Path(f"/proc/{child}").exists()
            assert isinstance(anyio.run(claim), Claim)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_torn_log_loses_its_end_and_nothing_before(
    seed: int, tmp_path: Path, anyio_backend_name: str
) -> None:
    path, torn = tmp_path / "runs.db", tmp_path / "torn.db"
    written = kill_after(f"sqlite:///{path}", 30, anyio_backend_name)
    tear(path, torn, random.Random(seed))
    async with opened(lambda: load_store(f"sqlite:///{torn}")) as store:
        if not await store.find():
            return
        claim = await claimed(store)
        last = claim.info.last
        assert last <= written + 1
        assert await store.read("run") == entries(1, last)
        await store.append(claim, entries(last + 1, last + 3))
    async with opened(lambda: load_store(f"sqlite:///{torn}")) as store:
        assert await store.read("run") == entries(1, last + 3)


def tear(path: Path, torn: Path, dice: random.Random) -> None:
    """Copy a store whose log ends somewhere, as a machine leaves it that has lost its power."""
    shutil.copy(path, torn)
    log = path.with_name("runs.db-wal").read_bytes()
    kept = bytearray(log[: dice.randrange(len(log))])
    if kept and dice.random() < 0.5:
        kept[-1] ^= 0xFF
    torn.with_name("torn.db-wal").write_bytes(kept)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room(
    seed: int, tmp_path: Path
) -> None:
    with process("fill", f"sqlite:///{tmp_path}/runs.db", str(seed)) as running:
        said = finished(running)
    assert said[0].startswith("refused SQLite store")
    assert said[-1].startswith("went on")
