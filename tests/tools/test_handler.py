"""The handler of a tool while it works: tries that count, time, threads, and the context that it is given."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import anyio
import anyio.from_thread
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    Engine,
    ToolContext,
    ToolFailed,
    tool,
)
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import asking
from tests.tools.logged import LOG, add_in_thread, broken


async def test_a_failing_handler_is_a_failed_tool_with_its_cause() -> None:
    recorder = FactRecorder()
    ctx = fake_context(tools=[broken], observers=[recorder])
    with pytest.raises(ToolFailed, match=r"tool 'broken' failed: ValueError: no\. 1") as caught:
        await ctx.tools.invoke("broken", {"times": 9})
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.tool_id == "broken"
    assert recorder.only("tool.failed").data["again"] is False


async def test_retries_are_tries_and_every_try_counts() -> None:
    recorder = FactRecorder()
    ctx = fake_context(tools=[tool(broken, retries=2)], observers=[recorder])
    assert (await ctx.tools.invoke("broken", {"times": 2})).value == "ok"
    assert ctx.ledger.used("tool_calls") == 3
    assert [data["try"] for data in recorder.data("tool.started")] == [1, 2, 3]
    assert [data["again"] for data in recorder.data("tool.failed")] == [True, True]
    assert recorder.kinds()[-1] == "tool.completed"


async def test_every_try_starts_from_the_arguments_as_they_were_given() -> None:
    seen: list[list[int]] = []

    @tool(retries=1)
    async def consume(items: list[int]) -> int:
        seen.append(list(items))
        items.clear()
        if len(seen) == 1:
            raise OSError
        return len(seen)

    given = {"items": [1, 2]}
    await fake_context(tools=[consume]).tools.invoke("consume", given)
    assert seen == [[1, 2], [1, 2]]
    assert given == {"items": [1, 2]}


async def test_a_retry_that_nobody_paid_for_does_not_start() -> None:
    ctx = fake_context(tools=[tool(broken, retries=9)], budget=Budget(tool_calls=2))
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.tools.invoke("broken", {"times": 9})
    assert (caught.value.limit, len(LOG)) == ("tool_calls", 2)


@pytest.mark.parametrize("threaded", [False, True])
async def test_a_handler_that_takes_too_long_is_given_up(threaded: bool) -> None:
    release = threading.Event()

    @tool(id="slow", timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    @tool(id="slow", timeout=0.01)
    def slow_in_thread() -> None:
        release.wait()

    ctx = fake_context(tools=[slow_in_thread if threaded else slow])
    with pytest.raises(ToolFailed, match=r"longer than its timeout of 0\.01 s") as caught:
        await ctx.tools.invoke("slow")
    release.set()
    assert isinstance(caught.value.__cause__, TimeoutError)


async def test_a_plain_handler_that_ignores_a_cancel_is_left_behind_and_told() -> None:
    begun, release = anyio.Event(), threading.Event()
    recorder = FactRecorder()

    @tool
    def stuck() -> str:
        anyio.from_thread.run_sync(begun.set)
        release.wait()
        return "late"

    ctx = fake_context(tools=[stuck], observers=[recorder])
    async with anyio.create_task_group() as group:
        group.start_soon(ctx.tools.invoke, "stuck")
        await begun.wait()
        group.cancel_scope.cancel()
    release.set()
    assert recorder.kinds() == ["tool.started", "thread.abandoned", "tool.failed"]
    assert recorder.only("thread.abandoned").data == {"tool": "stuck"}


async def test_a_plain_handler_sees_the_context_variables_of_the_node() -> None:
    tenant = contextvars.ContextVar("tenant", default="nobody")

    @tool
    def who() -> str:
        return tenant.get()

    tenant.set("ann")
    assert (await fake_context(tools=[who]).tools.invoke("who")).value == "ann"


async def test_many_plain_nodes_that_wait_for_plain_tools_do_not_lock_each_other_out() -> None:
    from agentflow import define_workflow, node, route

    @node(provides=["value"], routes=[route.deliver("value")])
    def ask(state: Any, ctx: Any) -> dict[str, Any]:
        return {"value": ctx.sync.tools.invoke("add_in_thread", {"a": 1}).value}

    values: list[int] = []
    async with Engine(define_workflow("ask", nodes=[ask]), tools=[add_in_thread]) as engine:

        async def one() -> None:
            values.append(await engine.run({}))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(60):
                    group.start_soon(one)
    assert values == [2] * 60


async def test_a_handler_is_given_its_context() -> None:
    seen: list[Any] = []

    @tool
    async def look(word: str, ctx: ToolContext) -> str:
        seen.append((ctx.tool_id, ctx.run_id, ctx.node_id, ctx.attempt, ctx.call_id))
        seen.append((ctx.identity, ctx.context, ctx.deps, ctx.signal is ctx.node.signal))
        seen.append(ctx.effect_key("mail"))
        if ctx.attempt == 1:
            raise OSError
        return word

    ctx = fake_context(tools=[tool(look, retries=1)], identity="ann", context={"k": 1}, deps="db")
    await ctx.tools.invoke("look", {"word": "x"}, call_id="c7")
    assert seen[0] == ("look", "fake-run", "node", 1, "c7")
    assert seen[1] == ("ann", {"k": 1}, "db", True)
    # The second try of a call is the same call to a service outside.
    assert seen[2] == seen[5] == "fake-run/node#1/tool:1:c7/mail"
    assert seen[3][3] == 2


async def test_a_tool_can_end_the_run_with_a_value() -> None:
    @tool(retries=3)
    async def enough(ctx: ToolContext) -> None:
        LOG.append("enough")
        ctx.bail("early")

    async def ask(ctx: Any) -> str:
        await ctx.tools.invoke("enough")
        return "late"

    assert await asking(ask).run({}, tools=[enough]) == "early"
    assert LOG == ["enough"]


@pytest.mark.case("P103")
async def test_a_plain_tool_can_run_another_workflow_to_its_end() -> None:
    async def upper(ctx: Any) -> str:
        return "A"

    @tool
    def nested() -> str:
        answer: str = asking(upper).run_sync({})
        return answer

    assert (await fake_context(tools=[nested]).tools.invoke("nested")).value == "A"
