"""A node can be tested as the function it is: with a context, and without an engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio.to_thread
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Failure,
    RunCancelled,
    Uses,
    node,
    route,
    tool,
)
from agentflow.mock import MockModel, Rule
from agentflow.testing import FactRecorder, FixedClock, fake_context


@tool
async def add_up(a: int, b: int) -> int:
    """Add."""
    return a + b


@node(provides=["reply"], routes=[route.deliver("reply")])
async def answer(state: Any, ctx: Any) -> dict[str, Any]:
    total = await ctx.tools.invoke("add_up", {"a": state["a"], "b": 1})
    reply = await ctx.model.invoke(f"Say {total.value}.")
    ctx.report(used_model=True, payload={"total": total.value})
    return {"reply": reply.value}


@node(provides=["reply"], routes=[route.deliver("reply")])
def answer_plainly(state: Any, ctx: Any) -> dict[str, Any]:
    log = ctx.sync.sub_log()
    number = log.write("add")
    total = ctx.sync.tools.invoke("add_up", {"a": state["a"], "b": 1}).value
    log.fix(number, total)
    ctx.sync.report(used_model=True, subs=log)
    once = ctx.sync.once("key", lambda: total)
    return {"reply": ctx.sync.model.invoke(f"Say {once}.").value}


def context(**options: Any) -> Any:
    return fake_context(
        model=MockModel([Rule(when="Say 3", reply="Three.")]), tools=[add_up], **options
    )


async def test_an_async_node_is_awaited_as_it_is() -> None:
    recorder = FactRecorder(content=True)
    assert await answer({"a": 2}, context(observers=[recorder])) == {"reply": "Three."}
    assert recorder.only("node.progress").content == {"payload": {"total": 3}}
    assert recorder.kinds("tool.", "model.") == [
        *("tool.started", "tool.completed", "model.started", "model.chunk", "model.completed")
    ]


def test_a_plain_node_works_in_a_plain_test() -> None:
    assert answer_plainly({"a": 2}, context()) == {"reply": "Three."}


def test_an_async_node_works_in_a_plain_test_too() -> None:
    assert anyio.run(answer, {"a": 2}, context()) == {"reply": "Three."}


async def test_a_plain_node_works_in_a_thread_of_an_async_test() -> None:
    ctx = context()
    update = await anyio.to_thread.run_sync(answer_plainly, {"a": 2}, ctx)
    assert update == {"reply": "Three."}


def test_the_context_is_what_it_was_made_with() -> None:
    signal, own = CancelSignal(), {"tenant": 1}
    ctx = fake_context(
        {"a": 1},
        context=own,
        identity="ann",
        deps="db",
        signal=signal,
        failure=Failure("ValueError", "no", "other"),
        node_id="look",
        run_id="r-1",
        visit=3,
        attempt=2,
        uses=Uses(tool_calls=1),
    )
    assert ctx.context is own
    assert (ctx.identity, ctx.deps, ctx.failure.node_id) == ("ann", "db", "other")  # type: ignore[union-attr]
    assert (ctx.node_id, ctx.run_id, ctx.visit, ctx.attempt, ctx.round) == ("look", "r-1", 3, 2, 1)
    assert (ctx.effect_key("x"), ctx.uses) == ("r-1/look#3/x", Uses(tool_calls=1))
    assert ctx.frame.state["a"] == 1
    assert ctx.run.id == "r-1"
    assert not ctx.signal.cancelled
    signal.cancel()
    assert ctx.signal.cancelled


async def test_limits_and_cancels_are_real() -> None:
    with pytest.raises(BudgetExceeded):
        await answer({"a": 2}, context(budget=Budget(model_calls=0)))
    signal = CancelSignal()
    signal.cancel("no")
    with pytest.raises(RunCancelled, match="no"):
        await answer({"a": 2}, context(signal=signal))


async def test_two_contexts_share_nothing() -> None:
    one, two = context(), context()
    await answer({"a": 2}, one)
    assert (one.ledger.used("model_calls"), two.ledger.used("model_calls")) == (1, 0)
    assert one.context is not two.context


async def test_async_observers_are_told_too() -> None:
    seen: list[str] = []
    done = anyio.Event()

    async def observe(fact: Any) -> None:
        seen.append(fact.kind)
        if fact.kind == "model.completed":
            done.set()

    await answer({"a": 2}, context(observers=[observe]))
    await done.wait()
    assert seen[0] == "tool.started"


def test_a_fixed_clock_moves_only_when_it_is_told_to() -> None:
    clock = FixedClock(datetime(2026, 11, 30, tzinfo=UTC))
    assert clock.now() == clock.now() == datetime(2026, 11, 30, tzinfo=UTC)
    clock.advance(90)
    assert (clock.now().minute, clock.monotonic()) == (1, 90)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


async def test_sleeping_on_a_fixed_clock_takes_no_time() -> None:
    clock = FixedClock()
    await clock.sleep(3600)
    assert (clock.monotonic(), clock.slept) == (3600, [3600])


async def test_the_time_of_a_call_is_told_by_the_clock_of_the_engine() -> None:
    clock = FixedClock()

    @tool
    async def wait() -> None:
        clock.advance(5)

    ctx = fake_context(tools=[wait], clock=clock)
    assert (await ctx.tools.invoke("wait")).invocation.seconds == 5


def test_a_recorder_finds_facts_by_kind() -> None:
    recorder = FactRecorder()
    assert (recorder.accepts("x", False), recorder.accepts("x", True)) == (True, False)
    assert FactRecorder(content=True).accepts("x", True)
    with pytest.raises(AssertionError, match=r"0 facts of kind 'run\.started'"):
        recorder.only("run.started")


async def test_state_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(ContractError):
        fake_context(3)  # type: ignore[arg-type]
