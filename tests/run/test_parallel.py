"""Branches at the same time: each by itself, one update at the join, in declared order, and nothing left behind."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import anyio
import pytest
from hypothesis import given, strategies as st

from agentflow import (
    AgentflowError,
    Budget,
    BudgetExceeded,
    Engine,
    Reducer,
    Retry,
    RunCancelled,
    Workflow,
    add,
    append,
    merge,
    node,
    parallel,
    route,
    subflow,
    union,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, unchecked


def flow(name: str, function: Any, *, delivers: str = "out", **options: Any) -> Workflow[Any]:
    """A workflow of one node that delivers a field."""
    only = node(function, id=name, may_provide=[delivers], routes=[route.deliver(delivers)])
    return unchecked(f"{name}-flow", nodes=[only], **options)


def giving(name: str, value: Any) -> Workflow[Any]:
    async def give(state: Any) -> Any:
        return {"out": value}

    return flow(name, give)


def both(*branches: Workflow[Any], **options: Any) -> Workflow[Any]:
    """A workflow that runs the branches `a`, `b`, … and ends with its whole state."""
    named = {chr(ord("a") + at): branch for at, branch in enumerate(branches)}
    return unchecked("both", nodes=[parallel("fan", named, routes=[END], **options)])


@pytest.mark.case("P028")
async def test_all_branches_run_and_what_they_deliver_goes_to_the_fields_of_their_names() -> None:
    assert await both(giving("one", 1), giving("two", 2)).run() == {"a": 1, "b": 2}


@pytest.mark.case("T073")
async def test_whoever_looks_while_branches_run_sees_how_each_of_them_stands() -> None:
    seen, waiting, go_on = Recorder(), anyio.Event(), anyio.Event()

    async def fail(state: Any) -> Any:
        raise ValueError("no")

    async def wait(state: Any) -> Any:
        waiting.set()
        await go_on.wait()
        return {"out": 2}

    def standing() -> dict[str, str]:
        """The last fact of each branch."""
        told = [fact for fact in seen.facts if fact.kind.startswith("run.") and "[" in fact.run_id]
        return {fact.run_id[-2]: fact.kind for fact in told}

    branches = giving("one", 1), flow("bad", fail), flow("slow", wait)
    workflow = both(*branches, on_branch_error="collect", errors="errors")
    async with Engine(workflow, observers=[seen]).start({}) as run:
        await waiting.wait()
        await anyio.wait_all_tasks_blocked()
        assert standing() == {"a": "run.completed", "b": "run.failed", "c": "run.started"}
        assert run.status == "running"
        go_on.set()
        await run.result()
    assert standing()["c"] == "run.completed"


@pytest.mark.case("P007")
async def test_branches_go_on_by_themselves_and_wait_for_nobody_before_the_join() -> None:
    order: list[str] = []
    far = anyio.Event()

    async def step(state: Any) -> Any:
        order.append("quick")

    async def last(state: Any) -> Any:
        order.append("quick ends")
        far.set()
        return {"out": "quick"}

    async def slow(state: Any) -> Any:
        # The slow branch ends its first visit only when the quick one has made both of its own.
        await far.wait()
        order.append("slow ends")
        return {"out": "slow"}

    quick = unchecked(
        "quick",
        nodes=[
            node(step, id="first", routes=[route.to("second")]),
            node(last, id="second", provides=["out"], routes=[route.deliver("out")]),
        ],
    )
    assert await both(flow("slow", slow), quick).run() == {"a": "slow", "b": "quick"}
    assert order == ["quick", "quick ends", "slow ends"]


class Joined(TypedDict):
    log: NotRequired[Annotated[list[str], append]]
    count: NotRequired[Annotated[int, add]]
    table: NotRequired[Annotated[dict[str, int], merge]]
    seen: NotRequired[Annotated[set[str], union]]
    worst: NotRequired[Annotated[int, Reducer(int, lambda old, new: max(old or 0, new), "largest")]]


def adding(name: str, update: dict[str, Any], after: anyio.Event | None = None) -> Workflow[Any]:
    """A branch that adds to fields with reducers, when it may."""

    async def give(state: Any) -> Any:
        if after is not None:
            await after.wait()
        return update

    only = node(give, id=name, provides=list(update), routes=[END])
    return unchecked(f"{name}-flow", nodes=[only], state=Joined, optional_inputs=list(update))


def fan_of(*branches: Workflow[Any]) -> Workflow[Any]:
    """Each branch is given the surrounding fields, and gives them back."""
    fields = tuple(Joined.__annotations__)
    held = {}
    for branch in branches:
        mine = {name: name for name in fields if name in branch.nodes[0].provides}
        held[branch.nodes[0].id] = subflow(branch.nodes[0].id, branch, inputs=mine, outputs=mine)
    fan = parallel("fan", held, routes=[END])
    return unchecked("fan", nodes=[fan], state=Joined, optional_inputs=list(fields))


@pytest.mark.case("T015")
async def test_what_branches_add_to_one_field_is_joined_in_declared_order_whichever_ended_first() -> (
    None
):
    gate = anyio.Event()

    async def opens(state: Any) -> Any:
        gate.set()
        return {"log": ["c"]}

    opener = unchecked(
        "opener",
        nodes=[node(opens, id="c", provides=["log"], routes=[END])],
        state=Joined,
        optional_inputs=["log"],
    )
    fan = fan_of(
        adding("a", {"log": ["a1", "a2"]}, gate), adding("b", {"log": ["b"]}, gate), opener
    )
    assert await fan.run({"log": ["before"]}) == {"log": ["before", "a1", "a2", "b", "c"]}


@pytest.mark.case("P031")
async def test_a_field_that_goes_on_from_one_field_is_given_as_a_whole_to_another() -> None:
    class Given(TypedDict):
        log: Annotated[list[str], append]
        copy: NotRequired[list[str]]

    async def work(state: Any) -> Any:
        return {"log": ["new"]}

    only = node(work, id="w", provides=["log"], routes=[END])
    child = unchecked("child", nodes=[only], state=Joined, optional_inputs=["log"])
    branch = subflow("s", child, inputs={"log": "log"}, outputs={"log": "log", "copy": "log"})
    workflow = unchecked("w", nodes=[parallel("fan", {"a": branch}, routes=[END])], state=Given)
    assert await workflow.run({"log": ["old"]}) == {"log": ["old", "new"], "copy": ["old", "new"]}


async def test_every_reducer_joins_what_each_branch_added_and_not_what_it_was_given() -> None:
    start = {
        "log": ["x"],
        "count": 10,
        "table": {"x": 1, "y": 1},
        "seen": {"x"},
        "worst": 5,
    }
    fan = fan_of(
        adding("a", {"count": 1, "table": {"x": 2}, "seen": {"a"}, "worst": 9, "log": []}),
        # The second branch was given `x: 1` and has not touched it: what the first has set must stay.
        adding("b", {"count": 2, "table": {"z": 3}, "seen": {"b"}, "worst": 7, "log": ["b"]}),
    )
    assert await fan.run(start) == {
        "log": ["x", "b"],
        "count": 13,
        "table": {"x": 2, "y": 1, "z": 3},
        "seen": {"x", "a", "b"},
        "worst": 9,
    }


async def test_a_branch_in_a_branch_gives_on_what_was_added_below_it() -> None:
    inner = fan_of(adding("a", {"count": 1, "log": ["a"]}), adding("b", {"count": 2, "log": ["b"]}))
    mine = {"log": "log", "count": "count"}
    middle = subflow("middle", inner, inputs=mine, outputs=mine)
    outer = unchecked(
        "outer",
        nodes=[parallel("fan", {"m": middle}, routes=[END])],
        state=Joined,
        optional_inputs=["log", "count"],
    )
    assert await outer.run({"log": ["x"], "count": 10}) == {"log": ["x", "a", "b"], "count": 13}


@pytest.mark.case("P014")
async def test_joins_after_joins_see_everything() -> None:
    first = parallel(
        "first", {"a": giving("a", 1), "b": giving("b", 2)}, routes=[route.to("second")]
    )
    second = parallel("second", {"c": giving("c", 3), "d": giving("d", 4)}, routes=[END])
    workflow = unchecked("chain", nodes=[first, second])
    assert await workflow.run() == {"a": 1, "b": 2, "c": 3, "d": 4}


async def test_a_join_in_a_loop_starts_afresh_each_round() -> None:
    async def count(state: Any) -> Any:
        return {"n": state["n"] + 1}

    async def look(state: Any) -> Any:
        return {"out": state["n"]}

    looking = flow("look", look, inputs=["n"])
    fan = parallel(
        "fan",
        {"a": looking, "b": looking},
        routes=[route.finish(dict, lambda state: state["n"] == 3), route.to("count")],
    )
    workflow = unchecked(
        "loop",
        nodes=[
            node(count, id="count", provides=["n"], starts_round=True, routes=[route.to("fan")]),
            fan,
        ],
        inputs=["n"],
        max_rounds=5,
    )
    assert await workflow.run({"n": 0}) == {"n": 3, "a": 3, "b": 3}


class Boom(Exception):
    """What a branch raises."""


async def raises(state: Any) -> Any:
    raise Boom("no")


async def test_a_failing_branch_cancels_and_awaits_its_siblings() -> None:
    ended: list[str] = []
    begun = anyio.Event()

    async def sibling(state: Any, ctx: Any) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(str(ctx.signal.fired))

    async def fails(state: Any) -> Any:
        await begun.wait()
        raise Boom("no")

    with pytest.raises(Boom, match="no"):
        await both(flow("fails", fails), flow("sibling", sibling)).run()
    assert ended == ["True"]


@pytest.mark.case("T013")
async def test_the_first_failure_is_raised_and_both_are_told() -> None:
    begun = anyio.Event()

    async def first(state: Any) -> Any:
        await begun.wait()
        raise Boom("first")

    async def second(state: Any) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            raise Boom("second") from None

    seen = Recorder()
    with pytest.raises(Boom, match="first") as caught:
        await both(flow("first", first), flow("second", second)).run(observers=[seen])
    assert "branch 'b' failed as well: Boom: second" in "\n".join(caught.value.__notes__)
    assert [fact.data["message"] for fact in seen.of("node.failed")] == ["first", "first"]


async def test_a_failing_branch_leads_to_the_error_node_of_the_whole() -> None:
    async def mend(state: Any, ctx: Any) -> Any:
        return {"error": f"{ctx.failure.node_id}: {ctx.failure.message}"}

    fan = parallel("fan", {"a": flow("raises", raises)}, on_error="mend", routes=[END])
    mending = node(mend, id="mend", provides=["error"], routes=[END])
    assert await unchecked("w", nodes=[fan, mending]).run() == {"error": "fan: no"}


async def test_collected_failures_stand_beside_what_the_others_gave() -> None:
    fan = both(
        giving("one", 1),
        flow("raises", raises),
        giving("three", 3),
        on_branch_error="collect",
        errors="bad",
    )
    assert await fan.run() == {
        "a": 1,
        "c": 3,
        "bad": [{"branch": "b", "error": "Boom", "message": "no"}],
    }


async def test_without_a_failure_the_collected_ones_are_an_empty_list() -> None:
    fan = both(giving("one", 1), on_branch_error="collect", errors="bad")
    assert await fan.run() == {"a": 1, "bad": []}


@pytest.mark.parametrize("mode", [{}, {"on_branch_error": "collect", "errors": "bad"}])
async def test_a_limit_that_is_reached_in_one_branch_stops_all(mode: dict[str, Any]) -> None:
    stopped: list[str] = []
    begun = anyio.Event()

    async def waits(state: Any) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("waits")

    async def first(state: Any) -> None:
        await begun.wait()

    greedy = unchecked(
        "greedy",
        nodes=[
            node(first, id="first", routes=[route.to("second")]),
            node(raises, id="second", routes=[END]),
        ],
    )
    with pytest.raises(BudgetExceeded, match="visits"):
        await both(greedy, flow("waits", waits), **mode).run(budget=Budget(visits=3))
    assert stopped == ["waits"]


async def test_branches_draw_on_one_ledger() -> None:
    fan = both(giving("one", 1), giving("two", 2))
    async with Engine(fan).start() as run:
        await run.result()
    assert (run.ledger.used("visits"), run.ledger.used("rounds")) == (3, 3)


async def test_a_cancel_ends_every_branch() -> None:
    begun: list[str] = []
    ended: list[str] = []
    ready = anyio.Event()

    def waiting(name: str) -> Workflow[Any]:
        async def wait(state: Any) -> Any:
            begun.append(name)
            if len(begun) == 2:
                ready.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(name)

        return flow(name, wait)

    async with Engine(both(waiting("one"), waiting("two"))).start() as run:
        await ready.wait()
        run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
    assert sorted(ended) == ["one", "two"]


async def test_a_bail_in_one_branch_ends_the_run_with_its_value() -> None:
    async def leave(state: Any, ctx: Any) -> Any:
        ctx.bail("enough")

    async def forever(state: Any) -> Any:
        await anyio.sleep_forever()

    assert await both(flow("forever", forever), flow("leave", leave)).run() == "enough"


async def test_a_branch_whose_own_signal_is_cancelled_has_failed() -> None:
    async def stop(state: Any, ctx: Any) -> Any:
        ctx.signal.cancel("tired")
        await anyio.sleep_forever()

    async def forever(state: Any) -> Any:
        await anyio.sleep_forever()

    with pytest.raises(AgentflowError, match=r"branch 'b' of node 'fan' was cancelled: tired"):
        await both(flow("forever", forever), flow("stop", stop)).run()


async def test_a_retry_runs_every_branch_again_under_names_of_its_own() -> None:
    tried: list[str] = []

    async def flaky(state: Any, ctx: Any) -> Any:
        tried.append(ctx.run_id.partition("/")[2])
        if len(tried) < 3:
            raise Boom("not yet")
        return {"out": len(tried)}

    fan = both(flow("flaky", flaky), retry=Retry(3))
    assert await fan.run() == {"a": 3}
    assert tried == ["fan#1[a]", "fan#1.2[a]", "fan#1.3[a]"]


async def test_the_facts_of_a_branch_name_it_and_progress_is_told_as_branches_end() -> None:
    seen = Recorder()
    await both(giving("one", 1), giving("two", 2)).run(observers=[seen], run_id="r")
    below = {fact.run_id: fact.parent_run_id for fact in seen.facts if fact.run_id != "r"}
    assert below == {"r/fan#1[a]": "r", "r/fan#1[b]": "r"}
    told = sorted((fact.data["branch"], fact.data["of"]) for fact in seen.of("node.progress"))
    assert told == [("a", 2), ("b", 2)]
    assert [fact.data["done"] for fact in seen.of("node.progress")] == [1, 2]


async def test_branches_share_the_context_and_nothing_of_their_states() -> None:
    async def write(state: Any, ctx: Any) -> Any:
        ctx.context.setdefault("seen", []).append(ctx.run_id.partition("/")[2])
        return {"out": sorted(state), "own": 1}

    only = node(write, id="w", provides=["out", "own"], routes=[route.deliver("out")])
    writer = unchecked("writer", nodes=[only], optional_inputs=["n"])
    context: dict[str, Any] = {}
    assert await both(writer, writer).run({"n": 1}, context=context) == {
        "n": 1,
        "a": ["n"],
        "b": ["n"],
    }
    assert sorted(context["seen"]) == ["fan#1[a]", "fan#1[b]"]


@given(
    order=st.permutations(range(4)),
    deltas=st.lists(st.lists(st.integers(), max_size=3), min_size=4, max_size=4),
)
async def test_the_result_never_depends_on_who_ends_first(
    order: list[int], deltas: list[list[int]]
) -> None:
    gates = [anyio.Event() for _ in range(4)]
    gates[order[0]].set()

    class Log(TypedDict):
        log: NotRequired[Annotated[list[int], append]]

    def branch(at: int) -> Workflow[Any]:
        async def work(state: Any) -> Any:
            await gates[at].wait()
            turn = order.index(at)
            if turn + 1 < len(order):
                gates[order[turn + 1]].set()
            return {"log": deltas[at]}

        only = node(work, id="w", provides=["log"], routes=[END])
        return unchecked(f"b{at}", nodes=[only], state=Log, optional_inputs=["log"])

    mine = {"log": "log"}
    held = {f"b{at}": subflow("s", branch(at), inputs=mine, outputs=mine) for at in range(4)}
    workflow = unchecked(
        "w", nodes=[parallel("fan", held, routes=[END])], state=Log, optional_inputs=["log"]
    )
    assert await workflow.run() == {"log": [item for delta in deltas for item in delta]}
