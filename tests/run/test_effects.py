"""Effects: done once for their key, and never after the end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import (
    CancelSignal,
    Divergence,
    Engine,
    Retry,
    RunCancelled,
    field,
    node,
    route,
)
from agentflow.run.effects import effect
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, unchecked


@pytest.mark.parametrize("plain", [False, True])
async def test_an_effect_is_done_once_for_its_key(plain: bool) -> None:
    done: list[str] = []

    async def pay_later() -> str:
        done.append("paid")
        return f"receipt {len(done)}"

    def pay() -> str:
        done.append("paid")
        return f"receipt {len(done)}"

    async def body(state: Any, ctx: Any) -> Any:
        function = pay if plain else pay_later
        first = await ctx.once("pay", function)
        second = await ctx.once("pay", function)
        other = await ctx.once("pay again", function)
        return {"x": [first, second, other]}

    seen = Recorder()
    result = await alone(body).run(observers=[seen])
    assert result == {"x": ["receipt 1", "receipt 1", "receipt 2"]}
    (replayed,) = seen.of("effect.replayed")
    assert replayed.data["kind"] == "once"


async def test_a_retry_gets_what_the_first_attempt_did() -> None:
    done: list[int] = []

    async def body(state: Any, ctx: Any) -> Any:
        def pay() -> int:
            done.append(ctx.attempt)
            return len(done)

        value = await ctx.once("pay", pay)
        if ctx.attempt < 3:
            raise OSError("after paying")
        return {"x": value}

    assert await alone(body, retry=Retry(3)).run() == {"x": 1}
    assert done == [1]


async def test_another_visit_has_effects_of_its_own() -> None:
    done: list[int] = []

    async def body(state: Any, ctx: Any) -> Any:
        await ctx.once("pay", lambda: done.append(ctx.visit))
        return {"n": state["n"] + 1}

    turn = node(
        body, id="a", provides=["n"], starts_round=True, routes=[route.to("a", field("n") < 2), END]
    )
    await unchecked("w", nodes=[turn], max_rounds=2).run({"n": 0})
    assert done == [1, 2]


async def test_an_effect_that_failed_was_not_done() -> None:
    tries: list[int] = []

    async def pay() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no answer")
        return "paid"

    async def body(state: Any, ctx: Any) -> Any:
        return {"x": await ctx.once("pay", pay)}

    assert await alone(body, retry=Retry(2)).run() == {"x": "paid"}
    assert len(tries) == 2


async def test_two_tasks_that_want_one_effect_get_the_same() -> None:
    done: list[int] = []

    async def pay() -> int:
        done.append(1)
        await anyio.lowlevel.checkpoint()
        return len(done)

    async def body(state: Any, ctx: Any) -> Any:
        found: list[int] = []

        async def one() -> None:
            found.append(await ctx.once("pay", pay))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)
        return {"x": found}

    assert await alone(body).run() == {"x": [1] * 5}
    assert done == [1]


async def test_another_request_under_a_recorded_key_is_a_divergence() -> None:
    async def body(state: Any, ctx: Any) -> None:
        async def perform() -> int:
            return 1

        await effect(ctx, "tool", "k", {"a": 1}, perform)
        await effect(ctx, "tool", "k", {"a": 1}, perform)
        await effect(ctx, "tool", "k", {"a": 2}, perform)

    with pytest.raises(Divergence, match="effect 'k' was recorded for another request"):
        await alone(body, retry=Retry(3)).run()


@pytest.mark.rule("R322")
async def test_what_an_effect_gives_after_the_cancel_is_dropped() -> None:
    signal = CancelSignal()
    got: list[Any] = []

    async def pay() -> str:
        signal.cancel("enough")
        return "paid"

    async def body(state: Any, ctx: Any) -> None:
        got.append(await ctx.once("pay", pay))

    with pytest.raises(RunCancelled, match="enough"):
        await alone(body).run(signal=signal)
    assert got == []


@pytest.mark.rule("R322")
async def test_no_effect_is_begun_after_the_cancel() -> None:
    done: list[int] = []

    async def body(state: Any, ctx: Any) -> None:
        ctx.run.cancel("enough")
        await ctx.once("pay", lambda: done.append(1))

    with pytest.raises(RunCancelled, match="enough"):
        await alone(body).run()
    assert done == []


@pytest.mark.rule("R240", "R241")
async def test_what_may_happen_what_happened_and_what_came_of_it_are_three_things() -> None:
    async def pay(state: Any, ctx: Any) -> Any:
        return {"x": await ctx.once("pay", lambda: "receipt 4711")}

    async def never(state: Any) -> None:
        pass

    workflow = unchecked(
        "w",
        nodes=[
            node(
                pay,
                id="pay",
                may_provide=["x"],
                routes=[route.deliver("x", field("x").exists()), route.to("never")],
            ),
            node(never, id="never", routes=[END]),
        ],
    )
    seen = Recorder()
    receipt = await workflow.run(observers=[seen])
    manifest = workflow.manifest()
    assert [one["id"] for one in manifest["nodes"]] == ["pay", "never"]
    assert "never" not in [fact.node_id for fact in seen.facts]
    assert receipt == "receipt 4711"
    assert "4711" not in repr(seen.facts)
    assert "4711" not in repr(manifest)
    assert len({type(manifest), type(seen.facts[0]), type(receipt)}) == 3


async def test_the_record_of_a_visit_ends_with_it() -> None:
    done: list[str] = []

    async def body(state: Any, ctx: Any) -> None:
        await ctx.once("pay", lambda: done.append(ctx.node_id))

    engine = Engine(line(body, body))
    await engine.run(run_id="r")
    await engine.run(run_id="r")
    assert done == ["a", "b", "a", "b"]
