"""Ledgers: counted exactly, shared by everything below a run, reset by nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    Engine,
    Ledger,
    Retry,
    Uses,
    node,
    route,
    subflow,
)
from tests.run.spending import note, spend
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, unchecked

CALLS = ["model_calls", "tool_calls"]
COUNTED = [*CALLS, "input_chars", "output_chars", "input_tokens", "output_tokens", "total_tokens"]


@pytest.mark.rule("R279")
@pytest.mark.parametrize("limit", [*COUNTED, "cost"])
async def test_each_limit_is_exhausted_alone_and_names_itself(limit: str) -> None:
    others = {name: 100 for name in COUNTED if name != limit}

    async def body(state: Any, ctx: Any) -> None:
        for other in others:
            spend(ctx, other, 5)
        spend(ctx, limit, 2)
        spend(ctx, limit, 2)

    seen = Recorder()
    budget = Budget(**{limit: 3}, **others)
    async with Engine(alone(body), budget=budget, observers=[seen]).start() as run:
        with pytest.raises(BudgetExceeded) as caught:
            await run.result()
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == (limit, 3, 4)
    assert run.ledger.used(limit) == 2
    assert run.ledger.left(limit) == 1
    assert seen.data("limit.reached") == {"limit": limit, "allowed": 3, "used": 4, "handler": None}
    assert seen.of("limit.reached")[0].node_id == "only"


@pytest.mark.rule("R279", "R274")
@pytest.mark.parametrize("allowed", [0, 1, 3])
@pytest.mark.case("P016")
async def test_visits_run_out_exactly_at_the_limit(allowed: int) -> None:
    seen = Recorder()

    async def again(state: Any) -> None:
        pass

    turn = node(again, id="a", starts_round=True, routes=[route.to("a", lambda state: True), END])
    workflow = unchecked("w", nodes=[turn], max_rounds=99)
    with pytest.raises(BudgetExceeded) as caught:
        await workflow.run(budget=Budget(visits=allowed), observers=[seen])
    assert (caught.value.limit, caught.value.used) == ("visits", allowed + 1)
    assert seen.visited() == ["a"] * allowed
    assert len(seen.of("limit.reached")) == 1


@pytest.mark.rule("R244")
async def test_each_run_counts_for_itself() -> None:
    async def body(state: Any, ctx: Any) -> None:
        spend(ctx, "model_calls")

    engine = Engine(alone(body), budget=Budget(model_calls=1))
    for _ in range(2):
        async with engine.start() as run:
            await run.result()
            assert run.ledger.used("model_calls") == 1


@pytest.mark.rule("R245")
def test_a_ledger_that_is_used_on_goes_on_counting() -> None:
    ledger = Ledger(Budget(model_calls=2))
    ledger.spend("model_calls")
    ledger.spend("model_calls")
    with pytest.raises(BudgetExceeded):
        ledger.spend("model_calls")


@pytest.mark.rule("R327")
async def test_a_limit_is_counted_across_nodes_and_rounds_of_a_run() -> None:
    async def body(state: Any, ctx: Any) -> None:
        spend(ctx, "model_calls")

    with pytest.raises(BudgetExceeded) as caught:
        await line(body, body, body).run(budget=Budget(model_calls=2))
    assert (caught.value.limit, caught.value.used) == ("model_calls", 3)


@pytest.mark.rule("R327")
async def test_neither_retry_nor_error_node_resets_or_recovers_a_limit() -> None:
    tries: list[int] = []

    async def body(state: Any, ctx: Any) -> None:
        tries.append(ctx.attempt)
        spend(ctx, "tool_calls")
        raise OSError("again")

    workflow = unchecked(
        "w",
        nodes=[
            node(body, id="a", retry=Retry(9), on_error="b", routes=[END]),
            node(body, id="b", routes=[END]),
        ],
    )
    with pytest.raises(BudgetExceeded) as caught:
        await workflow.run(budget=Budget(tool_calls=3))
    assert caught.value.limit == "tool_calls"
    assert tries == [1, 2, 3, 4]


@pytest.mark.rule("R280")
async def test_more_rounds_give_no_more_of_anything_else() -> None:
    async def body(state: Any, ctx: Any) -> None:
        spend(ctx, "input_chars", 11)

    workflow = alone(body, starts_round=True)
    many = unchecked("many", nodes=list(workflow.nodes), max_rounds=100)
    with pytest.raises(BudgetExceeded) as caught:
        await many.run(budget=Budget(input_chars=10))
    assert caught.value.limit == "input_chars"


@pytest.mark.parametrize(
    ("engine", "run", "allowed"), [(3, None, 3), (3, 2, 2), (2, 3, 2), (None, 2, 2)]
)
async def test_of_the_engines_and_the_runs_budget_the_smaller_limit_holds(
    engine: int | None, run: int | None, allowed: int
) -> None:
    async def body(state: Any, ctx: Any) -> None:
        for _ in range(9):
            spend(ctx, "tool_calls")

    with pytest.raises(BudgetExceeded) as caught:
        await Engine(alone(body), budget=Budget(tool_calls=engine, model_calls=1)).run(
            budget=Budget(tool_calls=run, input_chars=5)
        )
    assert caught.value.allowed == allowed


@pytest.mark.parametrize("limit", CALLS)
async def test_uses_of_a_node_are_enforced_for_one_visit_attempts_included(limit: str) -> None:
    tries: list[int] = []

    async def body(state: Any, ctx: Any) -> None:
        tries.append(ctx.attempt)
        spend(ctx, limit)
        if state.get("fail"):
            raise OSError("again")

    uses = Uses(**{limit: 2})
    turn = node(body, id="a", uses=uses, retry=Retry(9), routes=[route.to("b")])
    workflow = unchecked("w", nodes=[turn, node(body, id="b", uses=uses, routes=[END])])
    await workflow.run()
    assert tries == [1, 1]
    tries.clear()
    with pytest.raises(BudgetExceeded, match="one visit of node 'a'") as caught:
        await workflow.run({"fail": True})
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == (limit, 2, 3)
    assert tries == [1, 2, 3]


@pytest.mark.parametrize("limit", CALLS)
async def test_what_a_sub_workflow_spends_its_node_uses(limit: str) -> None:
    async def body(state: Any, ctx: Any) -> None:
        spend(ctx, limit)

    inner = line(body, body)
    middle = unchecked("middle", nodes=[subflow("deep", inner, routes=[END])])
    outer = unchecked(
        "outer", nodes=[subflow("sub", middle, uses=Uses(**{limit: 1}), routes=[END])]
    )
    async with Engine(outer).start() as run:
        with pytest.raises(BudgetExceeded, match="one visit of node 'sub'"):
            await run.result()
        assert run.ledger.used(limit) == 1


async def test_what_is_known_only_afterwards_is_counted_even_beyond_the_limit() -> None:
    async def body(state: Any, ctx: Any) -> None:
        note(ctx, "output_tokens", 7)

    async with Engine(alone(body), budget=Budget(output_tokens=5)).start() as run:
        with pytest.raises(BudgetExceeded) as caught:
            await run.result()
        assert (caught.value.allowed, caught.value.used) == (5, 7)
        assert run.ledger.used("output_tokens") == 7
        assert run.ledger.left("output_tokens") == 0


OPERATIONS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["visits", "rounds", "tool_calls", "note"]),
        st.integers(1, 4),
    ),
    max_size=30,
)
LIMIT = st.none() | st.integers(0, 12)


@given(limits=st.tuples(LIMIT, LIMIT, LIMIT), operations=OPERATIONS)
def test_a_chain_of_ledgers_counts_all_or_nothing(
    limits: tuple[int | None, ...], operations: list[tuple[int, str, int]]
) -> None:
    """Compared with plain counters: a share never spends more than it or any ledger above it allows."""
    ledgers: list[Ledger] = []
    for limit in limits:
        budget = Budget(visits=limit, rounds=limit, tool_calls=limit, input_tokens=limit)
        ledgers.append(ledgers[-1].share(budget) if ledgers else Ledger(budget))
    used = [dict.fromkeys(["visits", "rounds", "tool_calls", "input_tokens"], 0) for _ in limits]
    for at, act, amount in operations:
        name = "input_tokens" if act == "note" else act
        step = amount if act in ("tool_calls", "note") else 1
        allowed = [math.inf if limit is None else limit for limit in limits[: at + 1]]
        passed = any(used[level][name] + step > allowed[level] for level in range(at + 1))
        if act == "note" or not passed:
            for level in range(at + 1):
                used[level][name] += step
        try:
            match act:
                case "visits":
                    ledgers[at].enter_visit()
                case "rounds":
                    ledgers[at].enter_round()
                case "tool_calls":
                    ledgers[at].spend("tool_calls", step)
                case _:
                    ledgers[at].note(name, step)
        except BudgetExceeded as error:
            refused: BudgetExceeded | None = error
        else:
            refused = None
        assert (refused is not None) == passed
        assert refused is None or (refused.limit == name and refused.used > refused.allowed)
        assert [
            {key: ledger.used(key) for key in one}
            for ledger, one in zip(ledgers, used, strict=True)
        ] == used


def test_large_limits_are_told_to_the_last_digit() -> None:
    error = BudgetExceeded("total_tokens", 1_234_567, 1_234_568)
    assert str(error) == "the limit of total_tokens is 1234567; 1234568 would be used"
    assert str(BudgetExceeded("cost", 0.3, 0.1 + 0.2 + 0.1)).endswith("is 0.3; 0.4 would be used")
    ledger = Ledger(Budget(total_tokens=2_000_000))
    ledger.spend("total_tokens", 1_000_001)
    assert repr(ledger) == "<Ledger total_tokens=1000001/2000000>"
