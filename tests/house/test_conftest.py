"""The net under all tests holds: both backends, and nothing left behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.house.repository import ROOT

BOTH_BACKENDS = """
import sniffio

async def test_it(anyio_backend_name):
    assert sniffio.current_async_library() == anyio_backend_name
"""
RANDOM_INPUT = """
import anyio
from hypothesis import given, strategies

@given(strategies.integers())
async def test_it(number):
    await anyio.sleep(0)
"""
TASKS_THAT_END = """
import anyio

async def test_it():
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
"""
ASYNCIO_TASK = """
import asyncio, pytest

@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_it():
    test_it.task = asyncio.ensure_future(asyncio.sleep(60))
"""
TRIO_TASK = """
import pytest, trio

@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_it():
    trio.lowlevel.spawn_system_task(trio.sleep_forever)
"""
OPEN_FILE = """
def test_it():
    open(__file__)
"""
FORGOTTEN_AWAIT = """
import anyio

def test_it():
    anyio.sleep(0)
"""


SAMPLES = [
    ("an async test runs on both backends", BOTH_BACKENDS, {"PASSED": 2}),
    ("random inputs too", RANDOM_INPUT, {"PASSED": 2}),
    ("a task group that ends is welcome", TASKS_THAT_END, {"PASSED": 2}),
    ("an asyncio task is left behind", ASYNCIO_TASK, {"PASSED": 1, "ERROR": 1}),
    ("a trio task is left behind", TRIO_TASK, {"PASSED": 1, "ERROR": 1}),
    ("a file is left open", OPEN_FILE, {"FAILED": 1}),
    ("a coroutine is never awaited", FORGOTTEN_AWAIT, {"FAILED": 1}),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Counter[str]]:
    """Run all samples in one session of their own; count the outcomes of each."""
    folder = tmp_path_factory.mktemp("samples")
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    for number, (_, source, _) in enumerate(SAMPLES):
        (folder / f"test_{number}.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA"),
            *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[int, Counter[str]] = {number: Counter() for number in range(len(SAMPLES))}
    for outcome, number in re.findall(r"^([A-Z]+) test_(\d+)\.py::", done.stdout, re.MULTILINE):
        found[int(number)][outcome] += 1
    return found


@pytest.mark.parametrize(
    ("number", "expected"),
    [pytest.param(n, outcome, id=name) for n, (name, _, outcome) in enumerate(SAMPLES)],
)
def test_the_net_holds(
    number: int, expected: dict[str, int], outcomes: dict[int, Counter[str]]
) -> None:
    assert outcomes[number] == expected
