from __future__ import annotations

import io
from typing import Any

import pytest

from agentflow import Fact
from agentflow.observers.plain import PlainProgress
from agentflow.testing import FixedClock
from tests.observers.incident import run

INCIDENT = """\
run r-1 of incident
  read_logs: attempt 1 failed, OSError: the disk is busy
  read_logs: done in 1.00 s
  search: done in 1.00 s
  round 2
  search visit 2: done in 1.00 s
  judge/decide: done in 2.00 s
  judge: done in 2.00 s
  post: failed, ConnectionError: nobody is there; going on with report
  report: done in 0.00 s
run completed in 5.00 s: 3 rounds, 7 visits, 2 model calls
"""


async def test_plain_lines_tell_a_run_from_its_start_to_its_end() -> None:
    stream = io.StringIO()
    assert await run(PlainProgress(stream), clock=FixedClock()) == "it was a deploy"
    assert stream.getvalue() == INCIDENT


async def test_a_node_that_is_visited_often_is_told_of_less_and_less_often() -> None:
    stream = io.StringIO()
    await run(PlainProgress(stream), clock=FixedClock(), rounds=1_234)
    told = [line.split(":")[0] for line in stream.getvalue().splitlines() if "search" in line]
    numbers = [*range(2, 10), *range(10, 100, 10), *range(100, 1_000, 100), 1_000]
    assert told == ["  search", *(f"  search visit {number}" for number in numbers)]


async def test_every_fact_is_written_when_that_is_asked_for() -> None:
    stream = io.StringIO()
    facts: list[Fact] = []
    await run(PlainProgress(stream, every=True), facts.append, clock=FixedClock())
    lines = stream.getvalue().splitlines()
    assert [line.split()[2] for line in lines] == [fact.kind for fact in facts]
    assert "node.retried" in stream.getvalue()
    assert "message='the disk is busy'" in stream.getvalue()


@pytest.mark.rule("R339")
async def test_progress_never_asks_for_content() -> None:
    progress = PlainProgress(io.StringIO(), every=True)
    assert not progress.accepts("node.progress", True)
    assert progress.accepts("node.progress", False)


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError("nobody reads this")


@pytest.mark.rule("R341")
async def test_a_stream_that_breaks_does_not_change_the_result() -> None:
    kinds: list[Any] = []
    progress = PlainProgress(Closed())
    result = await run(progress, lambda fact: kinds.append(fact.kind), clock=FixedClock())
    assert result == "it was a deploy"
    assert "observer.failed" in kinds
