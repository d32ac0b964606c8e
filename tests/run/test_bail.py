"""Bail: ends the run with a value, through everything that stands in between."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import trio

from agentflow import (
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    Retry,
    RunCancelled,
    node,
    route,
    subflow,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked


async def leave(state: Any, ctx: Any) -> Any:
    ctx.bail("done early")


def leave_plainly(state: Any, ctx: Any) -> Any:
    ctx.sync.bail("done early")


async def leave_through_exceptions(state: Any, ctx: Any) -> Any:
    try:
        ctx.bail("done early")
    except Exception:
        return {"x": "swallowed"}


async def leave_from_a_task(state: Any, ctx: Any) -> Any:
    async def child() -> None:
        ctx.bail("done early")

    async with anyio.create_task_group() as group:
        group.start_soon(child)
        await anyio.sleep_forever()


async def leave_beside(ctx: Any, error: Exception) -> None:
    async def child() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise error

    async with anyio.create_task_group() as group:
        group.start_soon(child)
        await anyio.lowlevel.checkpoint()
        ctx.bail("done early")


async def leave_beside_an_error(state: Any, ctx: Any) -> Any:
    await leave_beside(ctx, OSError("while cleaning up"))


async def leave_beside_a_limit(state: Any, ctx: Any) -> Any:
    await leave_beside(ctx, BudgetExceeded("cost", 1, 2))


async def leave_through_the_loops_own_group(state: Any, ctx: Any) -> Any:
    async def child() -> None:
        ctx.bail("done early")

    if trio.lowlevel.in_trio_task():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            await trio.sleep_forever()
    async with asyncio.TaskGroup() as group:
        group.create_task(child())
        await asyncio.Event().wait()


BODIES = [
    leave_through_the_loops_own_group,
    leave,
    leave_plainly,
    leave_through_exceptions,
    leave_from_a_task,
    leave_beside_an_error,
    leave_beside_a_limit,
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("options", [{}, {"retry": Retry(3)}, {"timeout": 60}])
async def test_a_bail_ends_the_run_with_its_value(body: Any, options: dict[str, Any]) -> None:
    seen = Recorder()
    workflow = unchecked(
        "w",
        nodes=[
            node(body, id="a", may_provide=["x"], routes=[route.to("b")], **options),
            node(nothing, id="b", routes=[END]),
            node(nothing, id="rescue", routes=[END]),
        ],
        on_error="rescue",
    )
    async with Engine(workflow, observers=[seen]).start({"y": 1}) as run:
        assert await run.result() == "done early"
        assert run.status == "completed"
        assert dict(run.state) == {"y": 1}
    assert seen.visited() == ["a"]
    assert seen.kinds[-1] == "run.completed"


async def test_a_bail_passes_every_workflow_around_it() -> None:
    inner = unchecked("inner", nodes=[node(leave, id="deep", routes=[END])])
    middle = unchecked("middle", nodes=[subflow("sub", inner, routes=[END])])
    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", middle, routes=[route.to("after")], on_error="after"),
            node(nothing, id="after", routes=[END]),
        ],
    )
    seen = Recorder()
    assert await outer.run(observers=[seen]) == "done early"
    assert seen.visited() == ["sub", "sub", "deep"]
    ends = [fact.data.get("bailed") for fact in seen.of("run.completed")]
    assert ends == [True, True, None]


async def test_the_value_is_checked_by_the_result_contract_of_the_run() -> None:
    nodes = [node(leave, id="a", routes=[END])]
    with pytest.raises(ContractError, match="the result of workflow 'w'"):
        await unchecked("w", nodes=nodes, result=int).run()
    assert await unchecked("w", nodes=nodes, result=str).run() == "done early"


async def test_a_bail_with_nothing_is_a_result_too() -> None:
    async def body(state: Any, ctx: Any) -> Any:
        ctx.bail(None)

    async with Engine(alone(body)).start() as run:
        assert await run.result() is None
        assert run.status == "completed"


async def test_a_cancel_is_stronger_than_a_bail() -> None:
    signal = CancelSignal()

    async def body(state: Any, ctx: Any) -> Any:
        signal.cancel("enough")
        ctx.bail("done early")

    with pytest.raises(RunCancelled, match="enough"):
        await alone(body).run(signal=signal)


async def test_nothing_can_be_done_through_a_context_after_the_bail() -> None:
    kept: list[Any] = []

    async def body(state: Any, ctx: Any) -> Any:
        kept.append(ctx)
        ctx.bail("done early")

    await alone(body).run()
    with pytest.raises(RunCancelled, match="the visit of node 'only' is over"):
        await kept[0].once("late", lambda: 1)
