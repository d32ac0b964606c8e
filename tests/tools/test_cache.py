"""A tool with `cache="run"` is called once for the same arguments: permitted and recorded each time, and never for a failure."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    Engine,
    OutputInvalid,
    StoreError,
    ToolDenied,
    ToolFailed,
    define_workflow,
    node,
    route,
    tool,
)
from agentflow.messages import ToolCall
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder, fake_context
from agentflow.tools import run_calls
from tests.durable.crashing import CrashingStore, process
from tests.models.kit import asking


class Shop:
    """A tool that counts what it was asked."""

    def __init__(self, **options: Any) -> None:
        self.asked: Counter[str] = Counter()
        self.answers: list[Any] = []

        async def price(item: str, many: int = 1) -> Any:
            """Tell a price."""
            self.asked[f"{item} {many}"] += 1
            await anyio.lowlevel.checkpoint()
            answer = self.answers.pop(0) if self.answers else {"item": item, "total": many}
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.tool: Any = tool(price, cache="run", **options)


async def test_equal_arguments_are_answered_by_one_call() -> None:
    shop, recorder = Shop(), FactRecorder()
    ctx = fake_context(tools=[shop.tool], observers=[recorder], budget=Budget(tool_calls=2))
    first = await ctx.tools.invoke("price", {"item": "tea"})
    again = await ctx.tools.invoke("price", {"many": 1, "item": "tea"})
    other = await ctx.tools.invoke("price", {"item": "tea", "many": 2})
    assert shop.asked == {"tea 1": 1, "tea 2": 1}
    assert (first.value, again.value) == ({"item": "tea", "total": 1},) * 2
    assert other.value == {"item": "tea", "total": 2}
    assert (first.invocation.tries, again.invocation.tries) == (1, 0)
    assert first.invocation.id != again.invocation.id
    assert ctx.ledger.used("tool_calls") == 2
    ended = [fact.data.get("cached") for fact in recorder.facts if fact.kind == "tool.completed"]
    assert ended == [None, True, None]


async def test_a_run_remembers_over_its_visits_and_another_run_does_not() -> None:
    shop = Shop()

    async def body(state: Any, ctx: Any) -> dict[str, Any]:
        return {"x": (await ctx.tools.invoke("price", {"item": "tea"})).value}

    first = node(body, id="first", provides=["x"], routes=[route.to("second")])
    second = node(body, id="second", provides=["x"], routes=[route.deliver("x")])
    engine = Engine(define_workflow("twice", nodes=[first, second]), tools=[shop.tool])
    await engine.run({})
    assert shop.asked == {"tea 1": 1}
    await engine.run({})
    assert shop.asked == {"tea 1": 2}


async def test_equal_calls_of_one_answer_wait_for_the_first_and_cost_one() -> None:
    shop = Shop()
    ctx = fake_context(tools=[shop.tool], budget=Budget(tool_calls=1))
    made = await run_calls(ctx, [ToolCall(f"c{n}", "price", {"item": "tea"}) for n in range(4)])
    texts = [part.content for message in made for part in message.tool_results]
    assert texts == ['{"item":"tea","total":1}'] * 4
    assert shop.asked == {"tea 1": 1}


async def test_calls_that_differ_must_all_fit_into_the_budget() -> None:
    shop = Shop()
    ctx = fake_context(tools=[shop.tool], budget=Budget(tool_calls=1))
    proposed = [
        ToolCall(f"c{n}", "price", {"item": item}) for n, item in enumerate(["a", "b", "a"])
    ]
    with pytest.raises(BudgetExceeded):
        await run_calls(ctx, proposed)
    assert not shop.asked


@pytest.mark.parametrize(
    ("options", "wrong", "error"),
    [({}, ValueError("sold out"), ToolFailed), ({"output": dict[str, Any]}, "lots", OutputInvalid)],
)
async def test_what_went_wrong_is_not_kept(
    options: dict[str, Any], wrong: Any, error: type[Exception]
) -> None:
    shop = Shop(**options)
    shop.answers = [wrong]
    ctx = fake_context(tools=[shop.tool])
    with pytest.raises(error):
        await ctx.tools.invoke("price", {"item": "tea"})
    for _ in range(2):
        receipt = await ctx.tools.invoke("price", {"item": "tea"})
        assert receipt.value == {"item": "tea", "total": 1}
    assert shop.asked == {"tea 1": 2}


async def test_whoever_waits_for_a_call_that_fails_calls_by_itself() -> None:
    shop = Shop()
    shop.answers = [ValueError("sold out")]
    ctx = fake_context(tools=[shop.tool])
    made = await run_calls(ctx, [ToolCall(f"c{n}", "price", {"item": "tea"}) for n in range(3)])
    wrong = [part.is_error for message in made for part in message.tool_results]
    assert (sorted(wrong), shop.asked) == ([False, False, True], {"tea 1": 2})


@pytest.mark.rule("R239")
async def test_each_call_needs_its_own_permit() -> None:
    shop, verdicts = Shop(), [True, False]
    ctx = fake_context(tools=[shop.tool], authorize=lambda tool, given, ctx: verdicts.pop(0))
    await ctx.tools.invoke("price", {"item": "tea"})
    with pytest.raises(ToolDenied):
        await ctx.tools.invoke("price", {"item": "tea"})


async def test_nobody_can_change_what_others_are_given() -> None:
    @tool(cache="run")
    async def tags(of: list[str]) -> list[str]:
        of.append("seen")
        return of

    ctx = fake_context(tools=[tags])
    for _ in range(3):
        found = (await ctx.tools.invoke("tags", {"of": ["a"]})).value
        assert found == ["a", "seen"]
        found.append("mine")
    assert ctx.ledger.used("tool_calls") == 1


async def test_what_cannot_be_compared_or_copied_is_made_every_time() -> None:
    @tool(cache="run")
    async def lock() -> Any:
        return threading.Lock()

    @tool(cache="run")
    async def name(of: Any) -> str:
        return type(of).__name__

    ctx = fake_context(tools=[lock, name])
    for _ in range(2):
        await ctx.tools.invoke("lock")
        await ctx.tools.invoke("name", {"of": threading.Lock()})
    assert ctx.ledger.used("tool_calls") == 4


async def through_crashes(
    shop: Shop, items: list[str], deaths: list[tuple[int, bool]]
) -> tuple[list[Any], int, float]:
    """What buying the items gives, how many processes died on the way, and how many calls are counted."""
    store = MemoryStore()

    async def buy(ctx: Any) -> list[Any]:
        return [(await ctx.tools.invoke("price", {"item": item})).value for item in items]

    for died, (at, before) in enumerate([*deaths, (0, True)]):
        dying = CrashingStore(store, at, before=before)
        run = await process(asking(buy), dying, tools=[shop.tool])
        try:
            return run.outcome(), died, run.ledger.used("tool_calls")
        except StoreError:
            continue
    raise AssertionError("the last process does not die")


@given(
    items=st.lists(st.sampled_from("abc"), max_size=5),
    deaths=st.lists(st.tuples(st.integers(2, 8), st.booleans()), max_size=3),
)
@settings(max_examples=40)
async def test_a_crash_changes_no_answer_and_costs_at_most_the_call_that_was_under_way(
    items: list[str], deaths: list[tuple[int, bool]]
) -> None:
    shop = Shop()
    result, died, counted = await through_crashes(shop, items, deaths)
    assert result == [{"item": item, "total": 1} for item in items]
    assert counted <= shop.asked.total() <= len(set(items)) + died


async def test_what_was_recorded_before_a_crash_is_found_again_for_equal_calls_too() -> None:
    crashes = 0
    for at in range(2, 8):
        shop = Shop()
        _, died, _ = await through_crashes(shop, ["tea", "tea"], [(at, False)])
        assert shop.asked == {"tea 1": 1}
        crashes += died
    assert crashes >= 2


def test_a_scope_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ValueError, match="tool 'look': cache='day'; it is 'run' or nothing"):
        tool(lambda: 1, id="look", cache="day")  # type: ignore[call-overload]
