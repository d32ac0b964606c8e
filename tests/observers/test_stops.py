"""A durable run that stops to wait, is drained, and goes on, as progress shows it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from agentflow import Engine, Fact, RunInterrupted, RunSuspended, ask, define_workflow, node, route
from agentflow.observers.live import LiveProgress
from agentflow.observers.plain import PlainProgress
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock


@node(provides=["question"], routes=[route.to("decide")])
async def draft(state: Any) -> dict[str, Any]:
    return {"question": "pay?"}


WORKFLOW = define_workflow(
    "refund",
    nodes=[draft, ask("decide", prompt="pay?", answer="paid", routes=[route.deliver("paid")])],
)


async def run(*observers: Callable[[Fact], Any] | Any, answer: bool) -> None:
    """Run until it waits; with `answer`, let it go on in a second engine."""
    store = MemoryStore()
    first, *rest = observers
    async with Engine(WORKFLOW, store=store, clock=FixedClock(), observers=[first]) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r-1")
    if answer:
        async with Engine(WORKFLOW, store=store, clock=FixedClock(), observers=rest) as engine:
            assert await engine.resume("r-1", True) is True


async def test_plain_lines_tell_that_a_run_waits_and_that_it_goes_on() -> None:
    before, after = io.StringIO(), io.StringIO()
    await run(PlainProgress(before), PlainProgress(after), answer=True)
    assert before.getvalue() == (
        "run r-1 of refund\n  draft: done in 0.00 s\nrun suspended in 0.00 s: 1 round, 2 visits\n"
    )
    assert after.getvalue() == (
        "run r-1 of refund goes on\n"
        "  decide: done in 0.00 s\n"
        "run completed in 0.00 s: 1 round, 2 visits\n"
    )


async def test_a_run_that_goes_on_from_its_first_visit_is_told_of_once() -> None:
    asking = ask("decide", prompt="pay?", answer="paid", routes=[route.deliver("paid")])
    store, told = MemoryStore(), io.StringIO()
    workflow = define_workflow("refund", nodes=[asking])
    async with Engine(workflow, store=store) as engine:
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r-1")
        await engine.resume("r-1", True, observers=[PlainProgress(told)])
    assert told.getvalue().count("run r-1 of refund") == 1


async def test_the_table_shows_which_node_waits() -> None:
    live = LiveProgress(
        WORKFLOW,
        io.StringIO(),
        console=Console(file=io.StringIO(), width=60),
        clock=FixedClock().monotonic,
    )
    await run(live, answer=False)
    console = Console(file=io.StringIO(), width=60)
    console.print(live.picture(0, 60, 24))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines == [
        "refund  0.0 s  suspended  r-1",
        "✓  draft   0.0 s",
        "?  decide  0.0 s",
    ]


async def test_plain_lines_tell_that_a_run_was_interrupted() -> None:
    stream = io.StringIO()

    @node(provides=["x"], routes=[route.to("never")])
    async def work(state: Any) -> dict[str, Any]:
        async with draining:
            return {"x": 1}

    @node(routes=[route.deliver("x")])
    async def never(state: Any) -> None:
        raise AssertionError("the run was to stop before")

    workflow = define_workflow("w", nodes=[work, never])
    async with Engine(workflow, store=MemoryStore(), clock=FixedClock()) as engine:
        draining = _Draining(engine)
        with pytest.raises(RunInterrupted):
            await engine.run(run_id="r-1", observers=[PlainProgress(stream)])
    assert stream.getvalue().splitlines()[-1] == "run interrupted in 0.00 s: 1 round, 1 visit"


class _Draining:
    """Asks every run of an engine to stop after the visit that enters this."""

    def __init__(self, engine: Engine[Any]) -> None:
        self._engine = engine

    async def __aenter__(self) -> None:
        run = self._engine.get("r-1")
        assert run is not None
        run.part("the engine was drained")

    async def __aexit__(self, *raised: object) -> None: ...
