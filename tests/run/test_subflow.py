"""Sub-workflows: a state, rounds and an id of their own; one ledger, one context, signals downwards."""

from __future__ import annotations

from typing import Any, TypedDict

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    Retry,
    RunCancelled,
    Workflow,
    field,
    node,
    route,
    subflow,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


def nested(inner: Workflow[Any], depth: int, **options: Any) -> Workflow[Any]:
    """A workflow with `inner` so many levels below it."""
    for level in range(depth):
        inner = unchecked(f"level-{level}", nodes=[subflow("sub", inner, routes=[END], **options)])
    return inner


async def double(state: Any) -> Any:
    return {"n": state["n"] * 2, "secret": 1}


DOUBLE = unchecked(
    "double",
    nodes=[node(double, id="d", provides=["n", "secret"], routes=[route.deliver("n")])],
    inputs=["n"],
)


async def test_inputs_and_outputs_are_mapped_and_nothing_else_is_shared() -> None:
    outer = unchecked(
        "outer",
        nodes=[
            subflow(
                "sub",
                DOUBLE,
                inputs={"n": "number"},
                outputs={"result": "$result", "end": "n"},
                routes=[END],
            )
        ],
    )
    assert await outer.run({"number": 3, "other": 1}) == {
        "number": 3,
        "other": 1,
        "result": 6,
        "end": 6,
    }


async def test_an_input_whose_source_is_absent_is_left_out() -> None:
    async def look(state: Any) -> Any:
        return {"out": state.get("n", "none")}

    inner = unchecked(
        "inner",
        nodes=[node(look, id="a", provides=["out"], routes=[route.deliver("out")])],
        optional_inputs=["n"],
    )
    sub = subflow("sub", inner, inputs={"n": "m"}, outputs={"x": "$result"}, routes=[END])
    workflow = unchecked("outer", nodes=[sub])
    assert await workflow.run() == {"x": "none"}
    assert await workflow.run({"m": 5}) == {"m": 5, "x": 5}


async def test_an_output_whose_source_is_absent_is_a_contract_error() -> None:
    inner = unchecked("inner", nodes=[node(nothing, id="a", may_provide=["gone"], routes=[END])])
    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", inner, outputs={"x": "gone"}, routes=[END], on_error="b"),
            node(nothing, id="b", routes=[END]),
        ],
    )
    with pytest.raises(ContractError, match="ended without the field 'gone'"):
        await outer.run()


async def test_a_sub_workflow_counts_its_own_rounds() -> None:
    async def count(state: Any) -> Any:
        return {"n": state["n"] + 1}

    turn = node(
        count,
        id="turn",
        requires=["n"],
        provides=["n"],
        starts_round=True,
        routes=[route.to("turn", field("n") < 3), route.deliver("n")],
    )
    inner = unchecked("inner", nodes=[turn], max_rounds=3, inputs=["n"])
    outer = unchecked(
        "outer",
        nodes=[
            subflow(
                "one",
                inner,
                inputs={"n": "zero"},
                outputs={"a": "$result"},
                routes=[route.to("two")],
            ),
            subflow("two", inner, inputs={"n": "zero"}, outputs={"b": "$result"}, routes=[END]),
        ],
    )
    seen = Recorder()
    async with Engine(outer, observers=[seen]).start({"zero": 0}) as run:
        assert await run.result() == {"zero": 0, "a": 3, "b": 3}
        assert run.ledger.used("rounds") == 7
        assert run.ledger.used("visits") == 8
    inner_rounds = [fact.round for fact in seen.of("node.started") if fact.node_id == "turn"]
    assert inner_rounds == [1, 2, 3, 1, 2, 3]
    with pytest.raises(BudgetExceeded) as caught:
        await outer.run({"zero": 0}, budget=Budget(rounds=6))
    assert (caught.value.limit, caught.value.allowed) == ("rounds", 6)


async def test_rounds_that_run_out_below_end_the_whole_run() -> None:
    turn = node(nothing, id="t", starts_round=True, routes=[route.to("t", lambda state: True), END])
    inner = unchecked("inner", nodes=[turn], max_rounds=2)
    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", inner, routes=[END], on_error="rescue", retry=Retry(3)),
            node(nothing, id="rescue", routes=[END]),
        ],
    )
    seen = Recorder()
    with pytest.raises(BudgetExceeded, match="workflow 'inner'"):
        await outer.run(observers=[seen])
    assert seen.visited() == ["sub", "t", "t"]
    assert len(seen.of("limit.reached")) == 1


async def test_a_sub_workflow_without_a_round_left_tells_its_end() -> None:
    seen = Recorder()
    with pytest.raises(BudgetExceeded):
        await nested(alone(nothing), 1).run(budget=Budget(rounds=1), observers=[seen])
    inside = [fact.kind for fact in seen.facts if fact.parent_run_id is not None]
    assert inside == ["run.started", "limit.reached", "run.failed"]


async def test_an_error_below_goes_to_the_error_node_above() -> None:
    async def fail(state: Any) -> Any:
        raise LookupError("deep down")

    async def recover(state: Any, ctx: Any) -> Any:
        return {"x": [ctx.failure.type, ctx.failure.node_id]}

    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", nested(alone(fail), 2), routes=[END], on_error="rescue"),
            node(recover, id="rescue", provides=["x"], routes=[route.deliver("x")]),
        ],
    )
    assert await outer.run() == ["LookupError", "sub"]


async def test_an_error_that_nobody_takes_names_every_level_it_passed() -> None:
    async def fail(state: Any) -> Any:
        raise LookupError("deep down")

    with pytest.raises(LookupError, match="deep down") as caught:
        await nested(alone(fail), 2).run(run_id="r")
    assert caught.value.__notes__ == [
        "in node 'only' of workflow 'alone', run r/sub#1/sub#1",
        "in node 'sub' of workflow 'level-0', run r/sub#1",
        "in node 'sub' of workflow 'level-1', run r",
    ]


@pytest.mark.parametrize(("allowed", "levels"), [(1, 1), (2, 2), (3, 4)])
async def test_the_depth_of_nesting_is_a_limit(allowed: int, levels: int) -> None:
    workflow = nested(alone(nothing), levels)
    with pytest.raises(BudgetExceeded) as caught:
        await workflow.run(budget=Budget(depth=allowed))
    assert (caught.value.limit, caught.value.allowed) == ("depth", allowed)
    assert caught.value.used == allowed + 1
    await workflow.run(budget=Budget(depth=levels + 1))


@pytest.mark.case("P104")
@pytest.mark.parametrize("depth", [1, 5, 30])
async def test_a_cancel_reaches_every_level(depth: int) -> None:
    reached = anyio.Event()
    left: list[str] = []

    async def wait(state: Any, ctx: Any) -> None:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            left.append(ctx.run_id)

    seen = Recorder()
    async with Engine(nested(alone(wait), depth), observers=[seen]).start() as run:
        await reached.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert len(left) == 1
    ended = seen.of("run.cancelled")
    assert len(ended) == depth + 1
    assert [fact.run_id.count("/") for fact in ended] == list(range(depth, -1, -1))


@pytest.mark.case("P104")
async def test_a_cancel_reaches_a_loop_below_that_never_waits() -> None:
    turning = anyio.Event()

    async def turn(state: Any) -> None:
        turning.set()

    again = route.to("a", lambda state: True)
    inner = unchecked(
        "inner",
        nodes=[node(turn, id="a", starts_round=True, routes=[again, END])],
        max_rounds=10**9,
    )
    async with Engine(nested(inner, 2)).start() as run:
        await turning.wait()
        run.cancel("let through")
        with pytest.raises(RunCancelled, match="let through"):
            await run.result()


@pytest.mark.parametrize("waits", [False, True])
async def test_a_cancel_of_the_sub_workflow_alone_is_a_failure_of_its_node(waits: bool) -> None:
    async def give_up(state: Any, ctx: Any) -> None:
        ctx.signal.cancel("I give up")
        if waits:
            await anyio.sleep_forever()

    async def recover(state: Any, ctx: Any) -> Any:
        return {"x": ctx.failure.message}

    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", alone(give_up), routes=[END], on_error="rescue"),
            node(recover, id="rescue", provides=["x"], routes=[route.deliver("x")]),
        ],
    )
    async with Engine(outer).start() as run:
        assert "I give up" in await run.result()
        assert not run.signal.cancelled


async def test_context_deps_and_identity_are_one_for_all_levels() -> None:
    async def put(state: Any, ctx: Any) -> None:
        ctx.context["seen"] = (ctx.deps, ctx.identity, ctx.run.id, ctx.run_id)

    context: dict[str, Any] = {}
    await nested(alone(put), 2).run(context=context, deps="deps", identity="me", run_id="r")
    assert context == {"seen": ("deps", "me", "r", "r/sub#1/sub#1")}


async def test_a_retried_sub_workflow_starts_anew_under_an_id_of_its_own() -> None:
    runs: list[tuple[str, Any]] = []

    async def fail_once(state: Any, ctx: Any) -> Any:
        runs.append((ctx.run_id, dict(state)))
        if len(runs) == 1:
            raise OSError("again")
        return {"x": 1}

    outer = unchecked(
        "outer", nodes=[subflow("sub", alone(fail_once), routes=[END], retry=Retry(2))]
    )
    await outer.run(run_id="r")
    assert runs == [("r/sub#1", {}), ("r/sub#1.2", {})]


async def test_facts_below_name_the_run_they_belong_to() -> None:
    seen = Recorder()
    await nested(alone(nothing), 1).run(run_id="r", observers=[seen])
    started = [
        (fact.run_id, fact.parent_run_id, fact.workflow_id) for fact in seen.of("run.started")
    ]
    assert started == [("r", None, "level-0"), ("r/sub#1", "r", "alone")]
    assert [fact.data["parent_node"] for fact in seen.of("run.started")] == [None, "sub"]
    assert [fact.seq for fact in seen.facts] == list(range(1, len(seen.facts) + 1))


class Item(TypedDict):
    items: list[int]


async def test_levels_do_not_share_what_can_be_changed() -> None:
    async def extend(state: Any) -> Any:
        with pytest.raises(TypeError):
            state["items"].append(9)
        return {"items": [*state["items"], 9]}

    inner = unchecked(
        "inner",
        nodes=[node(extend, id="a", provides=["items"], routes=[route.deliver("items")])],
        state=Item,
    )
    outer = unchecked(
        "outer",
        nodes=[
            subflow("sub", inner, inputs={"items": "list"}, outputs={"x": "$result"}, routes=[END])
        ],
    )
    assert await outer.run({"list": [1]}) == {"list": [1], "x": [1, 9]}


async def test_a_run_inside_a_node_is_cancelled_with_its_caller() -> None:
    reached = anyio.Event()

    async def wait(state: Any) -> None:
        reached.set()
        await anyio.sleep_forever()

    inner = Engine(alone(wait))

    async def body(state: Any) -> None:
        await inner.run(run_id="inner")

    async with Engine(line(body)).start() as run:
        await reached.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run.result()
    await wait_all_tasks_blocked()
    assert inner.get("inner") is None
