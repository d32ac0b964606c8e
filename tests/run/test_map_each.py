"""One workflow for each item: some at a time, results in the order of the items, whatever the items come from."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from agentflow import (
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    RunCancelled,
    Workflow,
    map_each,
    node,
    parallel,
    route,
)
from agentflow.run import run, signal as signals
from tests.run.watching import Recorder
from tests.run.workflows import END, unchecked


def per_item(function: Any, **options: Any) -> Workflow[Any]:
    """A workflow that gets one item as `x` and delivers `out`."""
    only = node(function, id="one", may_provide=["out"], routes=[route.deliver("out")])
    return unchecked("per-item", nodes=[only], **({"inputs": ["x"]} | options))


async def double(state: Any) -> Any:
    return {"out": state["x"] * 2}


def mapped(function: Any = double, *, over: Any = "xs", **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"item": "x", "into": "ys", "routes": [route.deliver("ys")]}
    inner = options.pop("inner", None) or per_item(function)
    return unchecked("mapped", nodes=[map_each("each", inner, over=over, **(settings | options))])


async def test_each_item_gets_a_run_of_its_own_and_the_results_stand_in_order() -> None:
    assert await mapped().run({"xs": [3, 1, 2]}) == [6, 2, 4]


async def test_a_run_whose_time_passes_between_two_items_is_cancelled_and_has_not_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = SimpleNamespace(monotonic=lambda: time.monotonic() + 7200)

    async def pass_the_time(state: Any) -> Any:
        monkeypatch.setattr(signals, "time", late)
        return {"out": state["x"]}

    engine = Engine(mapped(pass_the_time, concurrency=1))
    async with engine.start({"xs": [1, 2, 3]}, signal=CancelSignal.after(3600)) as run:
        with pytest.raises(RunCancelled, match="its time has passed"):
            await run.result()
    assert run.status == "cancelled"


async def test_an_empty_list_joins_at_once() -> None:
    assert await mapped().run({"xs": []}) == []


async def test_as_many_items_as_the_node_says_wait_at_the_same_time() -> None:
    arrived, all_there = [0], anyio.Event()

    async def meet(state: Any) -> Any:
        arrived[0] += 1
        if arrived[0] == 50:
            all_there.set()
        await all_there.wait()
        return {"out": state["x"]}

    given = list(range(50))
    assert await mapped(meet, concurrency=50).run({"xs": given}) == given


async def test_items_that_never_wait_need_no_task_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where the machine is slow, the run gives way to others meanwhile, and another worker begins.
    monkeypatch.setattr(run, "SLICE", math.inf)
    tasks: set[int] = set()

    async def note(state: Any) -> Any:
        tasks.add(anyio.get_current_task().id)
        return {"out": state["x"]}

    await mapped(note, concurrency=50).run({"xs": list(range(50))})
    assert len(tasks) == 1


@pytest.mark.case("P011")
async def test_the_join_happens_once_and_what_the_field_held_before_does_not_count() -> None:
    seen = Recorder()
    assert await mapped().run({"xs": [1, 2], "ys": [99]}, observers=[seen]) == [2, 4]
    assert [fact.node_id for fact in seen.of("node.committed")].count("each") == 1


@pytest.mark.case("T011")
async def test_results_that_are_text_stay_whole() -> None:
    async def same(state: Any) -> Any:
        return {"out": state["x"]}

    assert await mapped(same).run({"xs": ["one", "two"]}) == ["one", "two"]


@given(order=st.permutations(range(5)))
async def test_the_order_of_the_results_is_that_of_the_items_whoever_ends_first(
    order: list[int],
) -> None:
    gates = [anyio.Event() for _ in order]
    gates[order[0]].set()

    async def work(state: Any) -> Any:
        at = state["x"]
        await gates[at].wait()
        turn = order.index(at)
        if turn + 1 < len(order):
            gates[order[turn + 1]].set()
        return {"out": at}

    assert await mapped(work).run({"xs": list(range(5))}) == [0, 1, 2, 3, 4]


async def test_no_more_items_are_worked_on_at_the_same_time_than_was_said() -> None:
    now = most = 0

    async def work(state: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        now -= 1
        return {"out": state["x"]}

    assert await mapped(work, concurrency=3).run({"xs": list(range(20))}) == list(range(20))
    assert most == 3


async def test_further_inputs_are_the_same_for_every_item() -> None:
    async def work(state: Any) -> Any:
        return {"out": state["x"] + state["base"]}

    inner = per_item(work, inputs=["x", "base"])
    workflow = mapped(inner=inner, inputs={"base": "offset"})
    assert await workflow.run({"xs": [1, 2], "offset": 10}) == [11, 12]


async def test_a_failing_item_stops_the_others_and_no_further_one_begins() -> None:
    begun: list[int] = []
    stopped: list[int] = []
    both = anyio.Event()

    async def work(state: Any) -> Any:
        begun.append(state["x"])
        if state["x"] == 1:
            await both.wait()
            raise ValueError("one")
        both.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(state["x"])

    with pytest.raises(ValueError, match="one"):
        await mapped(work, concurrency=2).run({"xs": [0, 1, 2, 3]})
    assert (begun, stopped) == ([0, 1], [0])


async def test_collected_failures_tell_the_item_and_the_other_results_keep_their_order() -> None:
    async def work(state: Any) -> Any:
        if state["x"] % 2:
            raise ValueError(f"odd {state['x']}")
        return {"out": state["x"]}

    workflow = mapped(work, on_branch_error="collect", errors="bad", routes=[END])
    assert await workflow.run({"xs": [0, 1, 2, 3]}) == {
        "xs": [0, 1, 2, 3],
        "ys": [0, 2],
        "bad": [
            {"branch": 1, "error": "ValueError", "message": "odd 1"},
            {"branch": 3, "error": "ValueError", "message": "odd 3"},
        ],
    }


async def test_items_may_come_from_a_function_of_the_state() -> None:
    assert await mapped(over=lambda state: range(state["n"])).run({"n": 3}) == [0, 2, 4]


async def test_items_may_come_from_an_async_function_or_a_generator() -> None:
    async def listed(state: Any) -> Any:
        return [1, 2]

    def made(state: Any) -> Iterator[int]:
        yield from (1, 2, 3)

    assert await mapped(over=listed).run({}) == [2, 4]
    assert await mapped(over=made).run({}) == [2, 4, 6]


async def test_of_an_async_iterable_no_more_is_taken_than_there_is_room_for() -> None:
    taken: list[int] = []
    ended: list[bool] = []

    async def endless(state: Any) -> AsyncIterator[int]:
        try:
            for number in range(1_000_000):
                taken.append(number)
                yield number
        finally:
            ended.append(True)

    async def work(state: Any) -> Any:
        if state["x"] == 4:
            raise ValueError("enough")
        return {"out": state["x"]}

    with pytest.raises(ValueError, match="enough"):
        await mapped(work, over=endless, concurrency=1).run({})
    assert (taken, ended) == ([0, 1, 2, 3, 4], [True])


async def test_a_source_that_fails_fails_the_node_with_its_own_error() -> None:
    async def broken(state: Any) -> AsyncIterator[int]:
        yield 1
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await mapped(over=broken).run({})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("abc", "gives str; it must give a list of items"),
        ({"a": 1}, "a list of items"),
        (3, "gives int; it must give a list of items"),
        ({3, 1}, "has no order; make it a list"),
    ],
)
async def test_what_is_no_list_of_items_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        await mapped().run({"xs": value})
    with pytest.raises(ContractError, match=said):
        await mapped(over=lambda state: value).run({})


async def test_more_items_than_there_may_be_are_a_limit_that_is_reached() -> None:
    begun: list[int] = []

    async def work(state: Any) -> Any:
        begun.append(state["x"])
        return {"out": 0}

    seen = Recorder()
    with pytest.raises(BudgetExceeded, match="limit of items in node 'each' is 2; 3 would be"):
        await mapped(work, max_items=2).run({"xs": [1, 2, 3]}, observers=[seen])
    assert (begun, seen.data("limit.reached")["limit"]) == ([], "items")
    with pytest.raises(BudgetExceeded, match="items"):
        await mapped(over=lambda state: iter(range(3)), max_items=2).run({})


@pytest.mark.case("P013")
async def test_a_map_in_a_branch_gives_all_its_results_to_the_join() -> None:
    async def one(state: Any) -> Any:
        return {"out": "plain"}

    plain = unchecked(
        "plain", nodes=[node(one, id="n", provides=["out"], routes=[route.deliver("out")])]
    )
    inner = unchecked(
        "inner",
        nodes=[
            map_each(
                "each",
                per_item(double),
                over="xs",
                item="x",
                into="ys",
                routes=[route.deliver("ys")],
            )
        ],
        inputs=["xs"],
    )
    fan = parallel("fan", {"p": plain, "m": inner}, routes=[END])
    workflow = unchecked("w", nodes=[fan])
    assert await workflow.run({"xs": [1, 2]}) == {"xs": [1, 2], "p": "plain", "m": [2, 4]}


async def test_an_item_whose_failure_is_collected_counts_as_progress() -> None:
    async def work(state: Any) -> Any:
        if state["x"] == 6:
            raise ValueError("no six")
        return {"out": state["x"]}

    seen = Recorder()
    workflow = mapped(work, on_branch_error="collect", errors="bad")
    assert await workflow.run({"xs": [5, 6, 7]}, observers=[seen]) == [5, 7]
    told = seen.of("node.progress")
    assert sorted(fact.data["branch"] for fact in told) == [0, 1, 2]
    assert [fact.data["done"] for fact in told] == [1, 2, 3]


async def test_progress_is_told_item_by_item() -> None:
    seen = Recorder()
    await mapped().run({"xs": [5, 6, 7]}, observers=[seen])
    told = [(fact.data["done"], fact.data["of"]) for fact in seen.of("node.progress")]
    assert told == [(1, 3), (2, 3), (3, 3)]


async def test_the_callers_list_is_not_touched_and_items_cannot_be_changed_for_others() -> None:
    async def spoil(state: Any) -> Any:
        return {"out": len(state["x"])}

    given = [["a"], ["b", "c"]]
    assert await mapped(spoil).run({"xs": given}) == [1, 2]
    assert given == [["a"], ["b", "c"]]


async def test_a_thousand_items_cost_one_visit_each() -> None:
    async with Engine(mapped()).start({"xs": list(range(1_000))}) as run:
        assert len(await run.result()) == 1_000
    assert run.ledger.used("visits") == 1_001
