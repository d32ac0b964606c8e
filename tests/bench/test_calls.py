"""The model calls of the benchmark: whoever is measured reads the whole answer, of the same server and in the same format."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from bench.calls import agentflow, floor, server
from bench.calls.scenarios import CALLS, QUESTION, check, first_answer
from bench.calls.server import answering
from bench.harness import Cell, Results
from bench.marks import marks
from bench.peers import FLOOR, OURS
from bench.scenarios import Unavailable

CALLERS: list[Any] = [floor, agentflow]


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_the_callers_measured_here_get_the_whole_answer(vendor: str) -> None:
    async def work() -> None:
        with answering() as addresses:
            for caller in CALLERS:
                async with getattr(caller, vendor)(addresses[vendor]) as ask:
                    await check(ask)
                    assert await ask("two words") == "two words"

    asyncio.run(work())


def test_a_caller_that_loses_a_piece_has_no_time() -> None:
    async def ask(question: str) -> str:
        return QUESTION[:-1]

    with pytest.raises(AssertionError, match="the answer is"):
        asyncio.run(check(ask))


def test_a_first_answer_is_that_of_a_whole_process() -> None:
    measured = asyncio.run(first_answer("openai")(agentflow, 1))
    assert measured["value"] > 0


def test_a_server_that_does_not_start_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "COMMAND", (sys.executable, "-c", "pass"))
    with pytest.raises(Unavailable, match="the mock server does not start"), answering():
        pass


@pytest.mark.parametrize(("ours", "met"), [(1.5, True), (1.6, False)])
def test_the_mark_of_a_call_is_told_by_the_work_of_the_sdk(ours: float, met: bool) -> None:
    cells = {("call", FLOOR): Cell([{"value": 1.0}]), ("call", OURS): Cell([{"value": ours}])}
    found = [mark for mark in marks(Results(CALLS, [], cells)) if mark.met is not None]
    assert [mark.met for mark in found] == [met]
