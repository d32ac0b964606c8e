"""Benches for each kind of store, and a line in the report that tells how many processes were killed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import count
from pathlib import Path

import pytest

from tests.crash.bench import Bench, Benches, Tally
from tests.crash.cradle import Cradle
from tests.stores.conftest import empty_schema, postgres_server

__all__ = ["postgres_server"]

JOBS = min(4, os.cpu_count() or 1)
TALLY = Tally()

EmptyStore = Callable[[], AbstractContextManager[str]]


@pytest.fixture(scope="session")
def cradles() -> Iterator[list[Cradle]]:
    """The processes that others are forked from."""
    with ExitStack() as stack:
        yield [stack.enter_context(Cradle()) for _ in range(JOBS)]


@pytest.fixture
def empty_store(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> EmptyStore:
    """A function that gives the URL of a new store of the kind `store`."""
    if store == "postgresql":
        url = os.environ.get("AGENTFLOW_TEST_POSTGRESQL")
        server: str = url or request.getfixturevalue("postgres_server").url
        return lambda: empty_schema(server)
    odd = request.node.callspec.params.get("seed", 0) % 2
    durability = "relaxed" if odd else "full"
    numbers = count()
    return lambda: nullcontext(f"sqlite:///{tmp_path}/{next(numbers)}.db?durability={durability}")


@pytest.fixture
def benches(cradles: list[Cradle], empty_store: EmptyStore, tmp_path: Path) -> Iterator[Benches]:
    """Benches that each have a store of the kind `store`."""
    with ExitStack() as stack:
        made = [
            Bench(cradle, stack.enter_context(empty_store()), tmp_path / f"{at}.log")
            for at, cradle in enumerate(cradles)
        ]
        yield Benches(made)
        for bench in made:
            TALLY.lives += bench.tally.lives
            TALLY.kills += bench.tally.kills


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what the proof was made of."""
    if TALLY.lives:
        terminalreporter.write_line(
            f"crash proof: {TALLY.lives} processes lived, {TALLY.kills} of them were killed"
        )
