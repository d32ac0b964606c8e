"""Prepared calls: measured as they will be sent, checked when they are sent, and good for one call of one run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    Model,
    ModelError,
    OutputInvalid,
    Uses,
)
from agentflow.messages import FinishChunk, TextChunk
from agentflow.models.transport import Preparation
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Scripted, asking


class Dynamic:
    """A transport whose instructions are others every time they are asked for."""

    name = "dynamic"

    def __init__(self) -> None:
        self.asked = 0

    def prepare(self) -> Preparation:
        self.asked += 1
        return Preparation(instructions="!" * self.asked)

    def parse(self, answer: Any) -> str:
        text: str = answer.text
        return text


def words(messages: Any, tools: Any) -> int:
    return sum(len(message.text.split()) for message in messages)


@pytest.mark.rule("R292")
async def test_a_call_needs_no_preparation() -> None:
    assert (await fake_context(model=Scripted()).model.invoke("Hi.")).value == "Hello."


@pytest.mark.rule("R293")
async def test_a_measurement_tells_exactly_what_fits() -> None:
    ctx = fake_context(model=Scripted(), budget=Budget(input_chars=10))
    prepared = ctx.model.prepare(stage="answer", instructions="1234")
    fits, too_much = await prepared.measure("123456"), await prepared.measure("1234567")
    assert (fits.within_budget, fits.input_chars, fits.over) == (True, 10, ())
    assert (too_much.within_budget, too_much.input_chars) == (False, 11)
    assert (too_much.over, too_much.input_tokens) == (("input_chars",), None)


@pytest.mark.rule("R293")
async def test_what_is_reserved_for_the_answer_must_be_left_too() -> None:
    model = Model(Scripted(reports=("output_tokens",)), counter=words)
    budget = Budget(total_tokens=10, output_tokens=6)
    ctx = fake_context(model=model, budget=budget)
    prepared = ctx.model.prepare(max_output_tokens=6)
    assert (await prepared.measure("one two three four")).within_budget
    measured = await prepared.measure("one two three four five")
    assert (measured.over, measured.input_tokens) == (("total_tokens",), 5)
    assert (await ctx.model.prepare(max_output_tokens=7).measure("one")).over == ("output_tokens",)
    with pytest.raises(BudgetExceeded, match="total_tokens"):
        await ctx.model.invoke("one two three four five", prepared=prepared)


@pytest.mark.rule("R293")
async def test_a_call_that_the_node_may_not_make_does_not_fit() -> None:
    ctx = fake_context(model=Scripted(), uses=Uses(model_calls=1))
    prepared = ctx.model.prepare()
    assert (await prepared.measure("Hi.")).within_budget
    await ctx.model.invoke("Hi.")
    assert (await prepared.measure("Hi.")).over == ("model_calls",)


@pytest.mark.rule("R294", "R295")
async def test_what_is_measured_is_what_is_sent() -> None:
    transport, provider = Dynamic(), Scripted()
    ctx = fake_context(model=Model(provider, transports={"dynamic": transport}))
    prepared = ctx.model.prepare(transport="dynamic")
    sizes = [(await prepared.measure("Hi.")).input_chars for _ in range(3)]
    reply = await ctx.model.invoke("Hi.", prepared=prepared)
    assert (sizes, transport.asked) == ([4, 4, 4], 1)
    assert [message.text for message in provider.asked[0]] == ["!", "Hi."]
    assert reply.invocation.usage["input_chars"] == 4
    assert ctx.ledger.used("model_calls") == 1


@pytest.mark.rule("R296")
async def test_a_measurement_is_no_pass() -> None:
    provider = Scripted()
    ctx = fake_context(model=provider, budget=Budget(input_chars=5))
    prepared = ctx.model.prepare()
    assert (await prepared.measure("12345")).within_budget
    with pytest.raises(BudgetExceeded, match="input_chars"):
        await ctx.model.invoke("123456", prepared=prepared)
    assert provider.log == []


@pytest.mark.rule("R296")
async def test_a_measurement_is_no_reservation() -> None:
    ctx = fake_context(model=Scripted(), budget=Budget(input_chars=5))
    prepared = ctx.model.prepare()
    assert (await prepared.measure("12345")).within_budget
    await ctx.model.invoke("1")
    with pytest.raises(BudgetExceeded, match="input_chars"):
        await ctx.model.invoke("12345", prepared=prepared)


@pytest.mark.rule("R297")
async def test_a_prepared_call_belongs_to_its_run() -> None:
    kept: list[Any] = []

    async def ask(ctx: Any) -> Any:
        kept.append(ctx.model.prepare())
        return await ctx.model.invoke("Hi.", prepared=kept[0])

    async with Engine(asking(ask), model=Scripted()) as engine:
        await engine.run({})
        with pytest.raises(ContractError, match="prepared in another run"):
            await engine.run({})


@pytest.mark.rule("R298")
async def test_a_prepared_call_belongs_to_its_model() -> None:
    a, b = Scripted(), Scripted()
    ctx = fake_context(models={"a": a, "b": b})
    prepared = ctx.model.prepare(model="a")
    assert prepared.model == "a"
    with pytest.raises(ContractError, match=r"model cannot be given again.*for model 'a'"):
        await ctx.model.invoke("Hi.", model="b", prepared=prepared)
    other = fake_context(models={"a": Scripted()})
    other.frame.run = ctx.frame.run
    from agentflow.models.source import models_of

    other._models = models_of(None, {"a": Scripted()}).bind(other)
    with pytest.raises(ContractError, match="prepared with other models"):
        await other.model.invoke("Hi.", prepared=prepared)
    assert (a.log, b.log) == ([], [])


@pytest.mark.rule("R299")
async def test_a_prepared_call_is_made_once() -> None:
    ctx = fake_context(model=Scripted())
    prepared = ctx.model.prepare()
    await ctx.model.invoke("Hi.", prepared=prepared)
    with pytest.raises(ContractError, match="was made already; prepare another one"):
        await ctx.model.invoke("Hi.", prepared=prepared)
    with pytest.raises(ContractError, match="was made already"):
        ctx.model.stream("Hi.", prepared=prepared)
    assert "used" in repr(prepared)


@pytest.mark.rule("R300")
@pytest.mark.parametrize(
    "options",
    [
        {"stage": "b"},
        {"transport": "text"},
        {"max_output_tokens": 9},
        {"instructions": "Be brief."},
        {"tools": ()},
    ],
)
async def test_what_was_prepared_cannot_be_replaced(options: dict[str, Any]) -> None:
    provider = Scripted()
    ctx = fake_context(model=provider)
    prepared = ctx.model.prepare(stage="a", max_output_tokens=5)
    with pytest.raises(ContractError, match=f"{next(iter(options))} cannot be given again"):
        await ctx.model.invoke("Hi.", prepared=prepared, **options)
    assert provider.log == []
    # What was refused has not been used up.
    assert (await ctx.model.invoke("Hi.", prepared=prepared)).value == "Hello."


@pytest.mark.rule("R301")
@pytest.mark.parametrize("limit", ["input_tokens", "total_tokens"])
async def test_tokens_that_nobody_counts_are_not_measured(limit: str) -> None:
    provider = Scripted(reports=("input_tokens", "output_tokens"))
    ctx = fake_context(model=provider, budget=Budget(**{limit: 100}))
    with pytest.raises(ContractError, match=rf"limits {limit}, .* has no counter .* counter=…"):
        await ctx.model.prepare().measure("Hi.")
    assert provider.log == []


async def test_what_is_no_prepared_call_is_refused() -> None:
    with pytest.raises(ContractError, match=r"make one with ctx\.model\.prepare"):
        await fake_context(model=Scripted()).model.invoke("Hi.", prepared=object())


async def test_a_stage_is_told() -> None:
    recorder = FactRecorder()
    ctx = fake_context(model=Scripted(), observers=[recorder])
    await ctx.model.invoke("Hi.", prepared=ctx.model.prepare(stage="answer"))
    await ctx.model.invoke("Ho.", stage="check")
    assert [data["stage"] for data in recorder.data("model.started")] == ["answer", "check"]


def test_a_plain_function_prepares_and_measures_too() -> None:
    def ask(state: Any, ctx: Any) -> dict[str, Any]:
        prepared = ctx.sync.model.prepare(instructions="12")
        size = prepared.measure("345").input_chars
        return {"value": (size, ctx.sync.model.invoke("345", prepared=prepared).value)}

    from agentflow import define_workflow, node, route

    asked = node(ask, provides=["value"], routes=[route.deliver("value")])
    workflow = define_workflow("plain", nodes=[asked])
    assert workflow.run_sync({}, model=Scripted()) == (5, "Hello.")


async def test_a_prepared_call_may_be_corrected() -> None:
    from agentflow import structured
    from tests.models.test_tries import Moody

    provider = Moody([TextChunk("no"), FinishChunk()], [TextChunk("3"), FinishChunk()])
    ctx = fake_context(model=provider)
    prepared = ctx.model.prepare(transport=structured(int))
    assert (await ctx.model.invoke("How many?", prepared=prepared)).value == 3
    with pytest.raises(OutputInvalid):
        await fake_context(model=Moody([TextChunk("no"), FinishChunk()])).model.invoke(
            "How many?", transport=structured(int)
        )


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_what_fits_is_sent_and_what_does_not_is_refused(
    chars: int, limit: int, reserve: int, tokens: int
) -> None:
    import anyio

    async def main() -> None:
        model = Model(Scripted(reports=("input_tokens", "output_tokens")), counter=lambda m, t: 5)
        ctx = fake_context(model=model, budget=Budget(input_chars=limit, total_tokens=tokens))
        prepared = ctx.model.prepare(max_output_tokens=reserve)
        measured = await prepared.measure("x" * chars)
        # What is let through fails later: the provider does not report what it has promised.
        refused = ModelError if measured.within_budget else BudgetExceeded
        with pytest.raises(refused):
            await ctx.model.invoke("x" * chars, prepared=prepared)
        assert measured.within_budget == bool(ctx.ledger.used("model_calls"))

    anyio.run(main)
