"""Several workflows of which the first result counts: the others are cancelled, and nothing of theirs is committed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import AgentflowError, RunCancelled, Workflow, node, race, route, subflow
from tests.run.watching import Recorder
from tests.run.workflows import END, unchecked


def flow(function: Any, name: str = "one") -> Workflow[Any]:
    only = node(function, id=name, may_provide=["out"], routes=[route.deliver("out")])
    return unchecked(f"{name}-flow", nodes=[only])


def giving(value: Any, after: anyio.Event | None = None) -> Workflow[Any]:
    async def give(state: Any) -> Any:
        if after is not None:
            await after.wait()
        return {"out": value}

    return flow(give)


def failing(message: str, after: anyio.Event | None = None, then: anyio.Event | None = None) -> Any:
    async def fail(state: Any) -> Any:
        if after is not None:
            await after.wait()
        if then is not None:
            then.set()
        raise ValueError(message)

    return flow(fail)


def first_of(**branches: Workflow[Any]) -> Workflow[Any]:
    return raced(branches)


def raced(branches: Any, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"into": "won", "winner": "who", "routes": [END]}
    return unchecked("race", nodes=[race("first", branches, **(settings | options))])


async def test_the_first_result_counts_and_the_others_are_cancelled_and_awaited() -> None:
    ended: list[str] = []
    begun = anyio.Event()

    async def forever(state: Any) -> Any:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    workflow = first_of(slow=flow(forever), quick=giving(1, begun))
    assert await workflow.run() == {"won": 1, "who": "quick"}
    assert ended == ["cancelled"]


async def test_of_two_that_end_at_the_same_time_one_wins() -> None:
    gate = anyio.Event()
    gate.set()
    found = await first_of(a=giving(1, gate), b=giving(2, gate)).run()
    assert found in ({"won": 1, "who": "a"}, {"won": 2, "who": "b"})


async def test_branches_may_give_different_fields() -> None:
    a = subflow("a", giving(1), outputs={"left": "$result"})
    b = subflow("b", flow(_forever), outputs={"right": "$result"})
    workflow = raced({"a": a, "b": b}, into=None)
    assert await workflow.run() == {"left": 1, "who": "a"}


async def _forever(state: Any) -> Any:
    await anyio.sleep_forever()


async def test_a_failure_before_the_first_result_stops_the_race() -> None:
    with pytest.raises(ValueError, match="no"):
        await first_of(a=flow(_forever), b=failing("no")).run()


async def test_collected_failures_let_the_others_go_on() -> None:
    gate = anyio.Event()
    workflow = raced(
        {"a": giving(1, gate), "b": failing("no", then=gate)},
        on_branch_error="collect",
        errors="bad",
    )
    assert await workflow.run() == {
        "won": 1,
        "who": "a",
        "bad": [{"branch": "b", "error": "ValueError", "message": "no"}],
    }


async def test_a_race_that_nobody_wins_fails_and_tells_of_all() -> None:
    gate = anyio.Event()
    workflow = raced(
        {"a": failing("late", after=gate), "b": failing("early", then=gate)},
        on_branch_error="collect",
    )
    said = "no branch of node 'first' ended well; branch 'a': ValueError: late; branch 'b': ValueError: early"
    with pytest.raises(AgentflowError, match=said):
        await workflow.run()


async def test_a_cancel_ends_the_race_without_a_winner() -> None:
    seen = Recorder()

    async def cancels(state: Any, ctx: Any) -> Any:
        ctx.run.cancel("enough")
        await anyio.sleep_forever()

    with pytest.raises(RunCancelled, match="enough"):
        await first_of(a=flow(_forever), b=flow(cancels)).run(observers=[seen])
    assert "node.committed" not in seen.kinds


async def test_a_race_in_a_loop_is_run_anew_each_round() -> None:
    async def count(state: Any) -> Any:
        return {"n": state["n"] + 1}

    async def look(state: Any) -> Any:
        return {"out": state["n"]}

    looking = unchecked(
        "look",
        nodes=[node(look, id="look", provides=["out"], routes=[route.deliver("out")])],
        inputs=["n"],
    )
    ways = [route.finish(dict, lambda state: state["n"] == 3), route.to("count")]
    workflow = unchecked(
        "loop",
        nodes=[
            node(count, id="count", provides=["n"], starts_round=True, routes=[route.to("first")]),
            race("first", {"a": looking}, into="won", routes=ways),
        ],
        inputs=["n"],
        max_rounds=5,
    )
    assert await workflow.run({"n": 0}) == {"n": 3, "won": 3}
