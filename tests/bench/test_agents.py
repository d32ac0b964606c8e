"""The agents of the benchmark: those measured here do all steps, and the mark is judged by the fastest peer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.agents import agentflow, floor
from bench.agents.scenarios import AGENTS, memory, together
from bench.agents.worker import wanted
from bench.harness import Cell, Results
from bench.marks import marks
from bench.peers import OURS

WORKERS: list[Any] = [floor, agentflow]


def test_the_script_calls_the_tool_until_it_is_enough() -> None:
    assert [wanted(str(number), 3) for number in range(4)] == [0, 1, None, None]


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.TITLE)
def test_the_agents_measured_here_do_every_step(worker: Any) -> None:
    calls = 0

    async def count() -> None:
        nonlocal calls
        calls += 1

    async def work() -> None:
        assert await worker.agent(30, count)(0) == 29

    asyncio.run(work())
    assert calls == 29


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.TITLE)
def test_runs_wait_in_their_tools_at_the_same_time(worker: Any) -> None:
    assert "value" in asyncio.run(memory(worker, 5))
    assert asyncio.run(together(worker, 5))["value"] > 0


@pytest.mark.parametrize(("ours", "met"), [(1.0, True), (1.1, False)])
def test_the_mark_of_a_step_is_told_by_the_fastest_peer(ours: float, met: bool) -> None:
    times = {OURS: ours, "pydantic_ai": 9.0, "agno": 3.0}
    cells = {("agent_step", name): Cell([{"value": value}]) for name, value in times.items()}
    found = [mark for mark in marks(Results(AGENTS, [], cells)) if mark.met is not None]
    assert [(mark.met, mark.found.split()[-1]) for mark in found] == [(met, "agno")]
