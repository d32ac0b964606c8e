"""What every test lives under: both backends, no leftovers, repeatable random inputs."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.register_profile(
    "proofs", deadline=None, max_examples=10_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer one switch for every file that the tests compare and a person has to judge."""
    parser.addoption(
        "--accept",
        action="store_true",
        help="write the public list and the outputs of the examples instead of comparing them",
    )


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Tell whether a compared file is to be written: read the diff before you commit it."""
    return bool(request.config.getoption("--accept"))


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each async test runs twice, once on each backend."""
    backend: str = request.param
    return backend


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> None:
    """Put every async test under the watch of ``no_task_is_left_behind``."""
    if collector.istestfunction(obj, name) and inspect.iscoroutinefunction(_body_of(obj)):
        pytest.mark.usefixtures("no_task_is_left_behind")(obj)


def _body_of(test: object) -> object:
    # hypothesis hides the coroutine function behind a plain one.
    handle = getattr(test, "hypothesis", None)
    return test if handle is None else handle.inner_test


@pytest.fixture
async def no_task_is_left_behind(anyio_backend_name: str) -> AsyncIterator[None]:
    """Fail a test whose tasks outlive it: a run owns everything that it starts."""
    tasks_now = _asyncio_tasks if anyio_backend_name == "asyncio" else _trio_tasks
    before = tasks_now()
    yield
    leftovers = sorted(repr(task) for task in tasks_now() - before)
    assert not leftovers, f"the test left tasks behind: {leftovers}"


def _asyncio_tasks() -> set[object]:
    # anyio's runner wraps each call, the one that asks included, in a task of its own.
    return {
        task
        for task in asyncio.all_tasks()
        if not getattr(task.get_coro(), "__qualname__", "").startswith("TestRunner.")
    }


def _trio_tasks() -> set[object]:
    root = trio.lowlevel.current_root_task()
    found: set[object] = set()
    waiting = [] if root is None else [root]
    while waiting:
        task = waiting.pop()
        found.add(task)
        waiting.extend(child for nursery in task.child_nurseries for child in nursery.child_tasks)
    return found


@pytest.fixture(scope="module", autouse=True)
def no_resource_is_left_open() -> Iterator[None]:
    """Collect garbage at the end of each file, so that what it left open warns there."""
    yield
    gc.collect()
