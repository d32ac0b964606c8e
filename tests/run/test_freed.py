"""A run that is over is freed at once when nobody holds it, however it ended: the collector has nothing to find."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    Engine,
    Node,
    Retry,
    RunCancelled,
    RunSuspended,
    Workflow,
    define_workflow,
    field,
    map_each,
    node,
    parallel,
    route,
    subflow,
)
from tests.run.freed import made_runs


@node(provides=["x"], routes=[route.deliver("x")])
async def good(state: Any, ctx: Any) -> dict[str, Any]:
    return {"x": 1}


@node(provides=["x"], routes=[route.deliver("x")])
async def bad(state: Any, ctx: Any) -> dict[str, Any]:
    raise ValueError("no")


@node(provides=["x"], routes=[route.deliver("x")])
def bad_in_a_thread(state: Any) -> dict[str, Any]:
    raise ValueError("no")


@node(provides=["x"], routes=[route.deliver("x")])
async def asking(state: Any, ctx: Any) -> dict[str, Any]:
    return {"x": await ctx.suspend("x?", None)}


@node(provides=["x"], routes=[route.deliver("x")])
async def bailing(state: Any, ctx: Any) -> dict[str, Any]:
    return {"x": ctx.bail(3)}


@node(
    starts_round=True,
    provides=["x"],
    routes=[route.deliver("x", when=field("x") == 2), route.to("again")],
)
async def again(state: Any, ctx: Any) -> dict[str, Any]:
    return {"x": 1}


def bad_again(**options: Any) -> Node:
    return node(bad, provides=["x"], routes=[route.deliver("x")], **options)


def flow(*nodes: Any, **options: Any) -> Workflow[Any]:
    return define_workflow("flow", nodes=nodes, inputs=[], **options)


@node(provides=["ns"], routes=[route.to("e")])
async def listing(state: Any, ctx: Any) -> dict[str, Any]:
    return {"ns": [1, 2]}


BAD = flow(bad)
BRANCHES = parallel("b", branches={"one": BAD, "two": flow(good)}, routes=[route.to("bad")])
EACH = map_each(
    "e",
    define_workflow("item", nodes=[bad], inputs=["n"]),
    over="ns",
    item="n",
    into="xs",
    routes=[route.deliver("xs")],
)
INSIDE = subflow("s", BAD, outputs={"x": "x"}, provides=["x"], routes=[route.deliver("x")])

ENDS: dict[str, tuple[Workflow[Any], dict[str, Any]]] = {
    "well": (flow(good), {}),
    "by an error": (BAD, {}),
    "by an error after others": (flow(bad_again(retry=Retry(3))), {}),
    "by an error within a time": (flow(bad_again(timeout=60)), {}),
    "by an error below": (flow(INSIDE), {}),
    "by an error of a branch": (flow(BRANCHES, bad), {}),
    "by an error of an item": (flow(listing, EACH), {}),
    "by a bail": (flow(bailing), {}),
    "by its rounds": (flow(again, max_rounds=2), {}),
    "by a budget": (flow(good), {"budget": Budget(visits=0)}),
    "by a question": (flow(asking), {"store": "memory:"}),
}


@pytest.mark.parametrize("observers", [[], [lambda fact: None]], ids=["unseen", "seen"])
@pytest.mark.parametrize("how", ENDS)
async def test_a_run_that_has_ended_is_freed_at_once(
    how: str, observers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow, options = ENDS[how]
    with made_runs(monkeypatch) as made:
        with suppress(ValueError, BudgetExceeded, RunSuspended):
            await workflow.run({}, observers=observers, **options)
        assert (made.count, await made.left()) == (1, 0)


async def test_a_run_that_failed_in_a_thread_leaves_no_cycle_of_ours(
    anyio_backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = flow(bad_in_a_thread)
    with made_runs(monkeypatch) as made:
        with suppress(ValueError):
            await workflow.run({})
        if anyio_backend_name == "trio":
            # What trio itself keeps of a thread's work is a cycle.
            gc.collect()
        assert (made.count, await made.left()) == (1, 0)


async def test_a_run_that_was_cancelled_is_freed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    signal = CancelSignal()

    @node(provides=["x"], routes=[route.deliver("x")])
    async def cancelling(state: Any, ctx: Any) -> dict[str, Any]:
        signal.cancel("enough")
        return {"x": 1}

    workflow = flow(cancelling)
    with made_runs(monkeypatch) as made:
        with suppress(RunCancelled):
            await workflow.run({}, signal=signal)
        assert (made.count, await made.left()) == (1, 0)


async def test_a_durable_run_that_failed_is_freed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Engine(BAD, store="memory:") as engine:
        with made_runs(monkeypatch) as made:
            with suppress(ValueError):
                await engine.run({}, run_id="r")
            assert (made.count, await made.left()) == (1, 0)


async def test_a_run_that_is_followed_tells_its_error_as_often_as_it_is_asked() -> None:
    async with Engine(BAD) as engine, engine.start({}) as run:
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await run.result()
