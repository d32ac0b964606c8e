"""Usage: what calls have used is added up for the run and for each place, as far as it is known, and never guessed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    Model,
    ModelError,
    RunCancelled,
    define_workflow,
    node,
    route,
    subflow,
)
from agentflow.messages import FinishChunk, TextChunk, UsageChunk
from agentflow.models import Price
from agentflow.models.price import pricing_of
from agentflow.run.usage import Usage, counters_of_call, is_usage, usage_by_path
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Scripted, asking

TOLD = UsageChunk(
    input_tokens=1000,
    output_tokens=100,
    cached_tokens=200,
    reasoning_tokens=40,
    cache_write_tokens=50,
)


class Priced(Scripted):
    reports: Any = ("input_tokens", "output_tokens")
    model = "big-1"


def telling(*chunks: Any, kind: type[Scripted] = Priced) -> Scripted:
    made = kind(TextChunk("Hi."), *(chunks or (TOLD,)), FinishChunk())
    made.reports = ("input_tokens", "output_tokens")
    return made


async def test_the_figures_of_a_call_are_in_its_record_and_in_the_ledger() -> None:
    ctx = fake_context(model=telling())
    for _ in range(2):
        reply = await ctx.model.invoke("Hi.")
    usage = dict(reply.invocation.usage)
    assert {name: usage[name] for name in TOLD.known()} == TOLD.known()
    total = ctx.ledger.usage
    assert (total.calls, total.partial) == (2, 0)
    assert dict(total.figures) == {
        "input_tokens": 2000,
        "output_tokens": 200,
        "total_tokens": 2200,
        "cached_tokens": 400,
        "cache_write_tokens": 100,
        "reasoning_tokens": 80,
    }


@pytest.mark.case("P122")
async def test_usage_that_comes_after_the_end_is_counted() -> None:
    provider = Scripted(
        TextChunk("Hi."), FinishChunk(), UsageChunk(input_tokens=3, output_tokens=4)
    )
    ctx = fake_context(model=provider)
    async with ctx.model.stream("Hi.") as stream:
        reply = await stream.reply()
    assert reply.invocation.usage["total_tokens"] == 7
    assert ctx.ledger.used("total_tokens") == 7


@pytest.mark.case("P121")
async def test_what_is_known_when_a_call_is_cancelled_is_counted_and_marked() -> None:
    thinking = anyio.Event()

    class Thinking:
        async def stream(self, messages: Any, context: Any) -> Any:
            yield UsageChunk(input_tokens=12)
            yield TextChunk("Well")
            thinking.set()
            await anyio.sleep_forever()

    signal, recorder = CancelSignal(), FactRecorder()
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=Thinking())
    async with engine.start({}, signal=signal, observers=[recorder]) as run:
        await thinking.wait()
        signal.cancel("enough")
        with pytest.raises(RunCancelled):
            await run.result()
    assert run.ledger.used("input_tokens") == 12
    assert (run.ledger.usage.calls, run.ledger.usage.partial) == (1, 1)
    assert run.ledger.usage.figures["input_tokens"] == 12
    assert recorder.only("model.failed").data["usage"]["input_tokens"] == 12


async def test_what_was_not_told_is_unknown_and_not_zero() -> None:
    told, silent = telling(), Scripted()
    ctx = fake_context(models={"told": told, "silent": silent})
    await ctx.model.invoke("Hi.", model="told")
    assert ctx.ledger.usage.known("input_tokens") == 1000
    await ctx.model.invoke("Hi.", model="silent")
    usage = ctx.ledger.usage
    assert (usage.known("input_tokens"), usage.figures["input_tokens"]) == (None, 1000)
    assert usage.known("cost") is None
    assert Usage().known("input_tokens") is None


def two_places() -> Any:
    @node(provides=["draft"], routes=[route.deliver("draft")])
    async def write(state: Any, ctx: Any) -> dict[str, Any]:
        return {"draft": (await ctx.model.invoke("Hi.")).value}

    inner = define_workflow("writing", nodes=[write])

    @node(provides=["checked"], routes=[route.deliver("checked")])
    async def check(state: Any, ctx: Any) -> dict[str, Any]:
        await ctx.model.invoke("Ha.")
        return {"checked": (await ctx.model.invoke("Ho.")).value}

    return define_workflow(
        "outer",
        nodes=[
            subflow("draft", inner, outputs={"draft": "$result"}, routes=[route.to("check")]),
            check,
        ],
    )


async def test_usage_is_told_for_each_place_by_its_path() -> None:
    async with Engine(two_places(), model=telling()).start({}) as run:
        await run.result()
    by_path = run.ledger.usage_by_path
    assert {path: usage.calls for path, usage in by_path.items()} == {"draft/write": 1, "check": 2}
    assert by_path["check"].figures["input_tokens"] == 2000
    assert run.ledger.usage == Usage.total(by_path.values())


async def test_usage_by_path_outlives_the_process() -> None:
    store = MemoryStore()
    provider = telling()

    class Failing(Scripted):
        name = "Priced"

        async def stream(self, messages: Any, context: Any) -> Any:
            if messages[-1].text == "Ho.":
                await anyio.sleep_forever()
            async for chunk in provider.stream(messages, context):
                yield chunk

    workflow = two_places()
    async with (
        Engine(workflow, model=Failing(), store=store) as engine,
        engine.start({}, run_id="r") as run,
    ):
        while run.ledger.usage.calls < 2:
            await anyio.lowlevel.checkpoint()
    # Once to go on, and once to be told how it has ended.
    for _ in range(2):
        async with (
            Engine(workflow, model=provider, store=store) as engine,
            engine.start({}, run_id="r") as run,
        ):
            await run.result()
        calls = {path: usage.calls for path, usage in run.ledger.usage_by_path.items()}
        assert calls == {"draft/write": 1, "check": 2}


figures = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "cost"]), st.integers(0, 100)
)


@given(st.lists(st.tuples(st.sampled_from(["a", "a/b"]), figures, st.booleans()), max_size=6))
def test_sums_are_those_of_the_parts_however_they_are_counted(
    calls: list[tuple[str, Mapping[str, float], bool]],
) -> None:
    counters: dict[str, float] = {"model_calls": len(calls)}
    for path, told, partial in calls:
        for name, amount in counters_of_call(path, told, partial=partial).items():
            assert is_usage(name)
            counters[name] = counters.get(name, 0) + amount
    by_path = usage_by_path(counters)
    assert set(by_path) == {path for path, _, _ in calls}
    usage = Usage.total(by_path.values())
    assert (usage.calls, usage.partial) == (len(calls), sum(partial for _, _, partial in calls))
    for name in ("input_tokens", "output_tokens", "cost"):
        values = [told[name] for _, told, _ in calls if name in told]
        assert usage.figures.get(name, 0) == sum(values)
        assert usage.known(name) == (sum(values) if len(values) == len(calls) > 0 else None)


PRICE = Price(input=2.0, output=10.0, cached=0.5, cache_write=4.0)


async def test_a_price_tells_the_cost_of_each_kind_of_token() -> None:
    ctx = fake_context(model=Model(telling(), price=PRICE))
    reply = await ctx.model.invoke("Hi.")
    assert reply.invocation.usage["cost"] == pytest.approx(
        (750 * 2.0 + 200 * 0.5 + 50 * 4.0 + 100 * 10.0) / 1e6
    )
    assert ctx.ledger.used("cost") == reply.invocation.usage["cost"]


async def test_a_table_of_prices_is_looked_up_by_the_name_that_the_vendor_gives() -> None:
    known = Model(telling(), price={"big-1": PRICE})
    assert "cost" in (await fake_context(model=known).model.invoke("Hi.")).invocation.usage
    unknown = Model(telling(), price={"other": PRICE})
    reply = await fake_context(model=unknown).model.invoke("Hi.")
    assert "cost" not in reply.invocation.usage


async def test_a_cost_that_the_provider_tells_is_not_worked_out_again() -> None:
    provider = telling(UsageChunk(input_tokens=1, output_tokens=1, cost=7.0))
    reply = await fake_context(model=Model(provider, price=PRICE)).model.invoke("Hi.")
    assert reply.invocation.usage["cost"] == 7.0


async def test_an_unknown_cost_keeps_no_budget() -> None:
    provider = telling()
    with pytest.raises(ContractError, match=r"limits cost, .* give Model\(…, price=…\)"):
        await fake_context(model=provider, budget=Budget(cost=1.0)).model.invoke("Hi.")
    assert provider.log == []


async def test_a_known_price_keeps_a_budget() -> None:
    ctx = fake_context(model=Model(telling(), price=PRICE), budget=Budget(cost=0.003))
    await ctx.model.invoke("Hi.")
    with pytest.raises(BudgetExceeded, match=r"the limit of cost is 0\.003"):
        await ctx.model.invoke("Hi.")


async def test_without_figures_there_is_no_cost() -> None:
    reply = await fake_context(model=Model(Scripted(), price=PRICE)).model.invoke("Hi.")
    assert "cost" not in reply.invocation.usage
    failing = Model(Scripted(UsageChunk(input_tokens=5), OSError("reset")), price=PRICE)
    with pytest.raises(ModelError) as caught:
        await fake_context(model=failing).model.invoke("Hi.")
    assert caught.value.invocation is not None
    assert "cost" not in caught.value.invocation.usage


def test_a_cheaper_kind_costs_like_the_others_until_it_is_told() -> None:
    usage = {"input_tokens": 10, "output_tokens": 0, "cached_tokens": 4, "cache_write_tokens": 2}
    assert Price(input=1e6, output=0).cost(usage) == 10


@pytest.mark.parametrize("wrong", [-1, "3", True, float("nan"), None])
def test_a_wrong_price_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"Price\(input="):
        Price(input=wrong, output=1)
    with pytest.raises(TypeError, match=r"is no price: give Price\(input="):
        Model(Scripted(), price=3)  # type: ignore[arg-type]


class Vendored(Priced):
    vendor = "openai"
    model = "gpt-4o"


async def test_the_list_of_the_library_knows_common_models() -> None:
    pytest.importorskip("genai_prices")
    ctx = fake_context(model=telling(kind=Vendored), budget=Budget(cost=100))
    cost = (await ctx.model.invoke("Hi.")).invocation.usage["cost"]
    assert 0 < cost < 1


async def test_a_model_that_is_in_no_list_has_no_price() -> None:
    provider = telling(kind=Vendored)
    provider.model = "no-such-model-1"  # type: ignore[attr-defined]
    reply = await fake_context(model=provider).model.invoke("Hi.")
    assert "cost" not in reply.invocation.usage


def test_without_the_library_the_price_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert pricing_of(Vendored(), None) is None
    assert Model(Vendored()).price is None
