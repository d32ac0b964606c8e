"""The limits of model calls: checked before a call is counted, counted as they are used, and never estimated."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Model,
    ModelError,
    Uses,
    define_workflow,
    node,
    route,
)
from agentflow.messages import FinishChunk, TextChunk, ToolCallChunk, UsageChunk
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Scripted, Sinking

REPORTS = ("input_tokens", "output_tokens", "cost")


def reporting(input_tokens: int, output_tokens: int, cost: float = 0.0) -> Scripted:
    usage = UsageChunk(input_tokens=input_tokens, output_tokens=output_tokens, cost=cost)
    return Scripted(TextChunk("Hello."), FinishChunk(), usage, reports=REPORTS)


@pytest.mark.rule("R287", "R280")
async def test_input_over_the_budget_fails_before_the_call_is_counted() -> None:
    provider, recorder = Scripted(), FactRecorder()
    budget = Budget(input_chars=5, rounds=100)
    ctx = fake_context(model=provider, budget=budget, observers=[recorder])
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.model.invoke("123456")
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("input_chars", 5, 6)
    assert ctx.ledger.as_dict() == {}
    assert provider.log == []
    assert recorder.kinds() == ["limit.reached"]
    assert (await ctx.model.invoke("12345")).value == "Hello."


@pytest.mark.rule("R287")
async def test_the_input_budget_is_that_of_the_whole_run() -> None:
    ctx = fake_context(model=Scripted(), budget=Budget(input_chars=9))
    await ctx.model.invoke("12345")
    with pytest.raises(BudgetExceeded, match="the limit of input_chars is 9; 10 would be used"):
        await ctx.model.invoke("12345")
    assert ctx.ledger.used("model_calls") == 1


@pytest.mark.rule("R291")
async def test_output_over_the_limit_is_an_error_and_gives_no_value() -> None:
    provider, sink = Scripted(), Sinking([])
    ctx = fake_context(model=provider, budget=Budget(output_chars=4), sink=sink)
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.model.invoke("Hi.")
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("output_chars", 4, 6)
    # The provider is not read further, and what is too much is not handed on.
    assert provider.log == ["asked", "sends 1", "sends 2", "closed"]
    assert [chunk.text for chunk in sink.chunks] == ["Hel"]
    assert ctx.ledger.used("output_chars") == 6


@pytest.mark.rule("R291")
async def test_tool_arguments_and_names_count_as_output() -> None:
    script = ToolCallChunk(0, "c", "look", '{"x": 1}'), FinishChunk("tool_calls")
    ctx = fake_context(model=Scripted(*script), budget=Budget(output_chars=11))
    with pytest.raises(BudgetExceeded):
        await ctx.model.invoke("Hi.", transport="message")


@pytest.mark.rule("R301")
@pytest.mark.parametrize("limit", ["input_tokens", "output_tokens", "total_tokens", "cost"])
async def test_a_budget_that_nobody_can_count_is_refused_before_the_provider_is_reached(
    limit: str,
) -> None:
    provider = Scripted()
    ctx = fake_context(model=provider, budget=Budget(**{limit: 1_000_000}))
    with pytest.raises(ContractError, match=f"limits {limit}, .* nothing is guessed"):
        await ctx.model.invoke("Hi.")
    assert provider.log == []
    assert ctx.ledger.as_dict() == {}


@pytest.mark.rule("R301", "R287")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_with_a_counter_input_tokens_are_checked_before_the_call(asynchronous: bool) -> None:
    def count(messages: Any, tools: Any) -> Any:
        return 10 * len(messages)

    async def count_later(messages: Any, tools: Any) -> int:
        return 10 * len(messages)

    provider = Scripted()
    model = Model(provider, counter=count_later if asynchronous else count)
    ctx = fake_context(model=model, budget=Budget(input_tokens=15))
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.model.invoke(["one", "two"])
    assert (caught.value.limit, caught.value.used) == ("input_tokens", 20)
    assert provider.log == []
    reply = await ctx.model.invoke("one")
    assert reply.invocation.usage["input_tokens"] == 10
    assert ctx.ledger.used("input_tokens") == 10


@pytest.mark.rule("R279", "R301")
@pytest.mark.parametrize(
    ("limit", "allowed", "used"),
    [("input_tokens", 9, 10), ("output_tokens", 4, 5), ("total_tokens", 14, 15), ("cost", 0.5, 1)],
)
async def test_reported_usage_is_held_to_its_own_limit(
    limit: str, allowed: float, used: float
) -> None:
    ctx = fake_context(
        model=reporting(10, 5, 1.0),
        budget=Budget(**{limit: allowed}),  # type: ignore[arg-type]
    )
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.model.invoke("Hi.")
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == (limit, allowed, used)
    # It was used all the same, and all of it is in the ledger.
    assert ctx.ledger.as_dict() == {
        "model_calls": 1,
        "input_chars": 3,
        "output_chars": 6,
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "cost": 1.0,
    }


@pytest.mark.rule("R301")
async def test_a_promised_figure_that_does_not_come_is_an_error_where_it_is_limited() -> None:
    provider = Scripted(reports=("output_tokens",))
    ctx = fake_context(model=provider, budget=Budget(output_tokens=5))
    with pytest.raises(ModelError, match="did not report its output_tokens"):
        await ctx.model.invoke("Hi.")


async def test_what_is_not_known_is_not_in_the_ledger() -> None:
    ctx = fake_context(model=Scripted())
    reply = await ctx.model.invoke("Hi.")
    assert dict(reply.invocation.usage) == {"input_chars": 3, "output_chars": 6}
    assert ctx.ledger.as_dict() == {"model_calls": 1, "input_chars": 3, "output_chars": 6}


@pytest.mark.rule("R279", "R327")
async def test_the_count_of_calls_cannot_be_reset_by_another_runner_in_the_same_run() -> None:
    provider = Scripted()

    @node(provides=["a"], routes=[route.to("second")])
    async def first(state: Any, ctx: Any) -> dict[str, Any]:
        return {"a": (await ctx.model.invoke("Hi.")).value}

    @node(provides=["b"], routes=[route.deliver("b")])
    async def second(state: Any, ctx: Any) -> dict[str, Any]:
        return {"b": (await ctx.model.invoke("Hi.")).value}

    recorder = FactRecorder()
    workflow = define_workflow("two", nodes=[first, second])
    with pytest.raises(BudgetExceeded) as caught:
        await workflow.run({}, model=provider, budget=Budget(model_calls=1), observers=[recorder])
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("model_calls", 1, 2)
    assert len(provider.asked) == 1
    assert recorder.only("limit.reached").node_id == "second"


@pytest.mark.rule("R279")
async def test_what_one_visit_may_use_is_a_limit_of_its_own() -> None:
    ctx = fake_context(model=Scripted(), uses=Uses(model_calls=0), budget=Budget(model_calls=9))
    with pytest.raises(BudgetExceeded, match="in one visit of node 'node' is 0"):
        await ctx.model.invoke("Hi.")
    assert ctx.ledger.used("model_calls") == 0
