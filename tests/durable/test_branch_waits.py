"""Branches that wait: the others finish first, all questions come at once, and each is answered alone or with others."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    Engine,
    RunSuspended,
    Workflow,
    map_each,
    node,
    parallel,
    race,
    route,
)
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.run.watching import Recorder
from tests.run.workflows import END, unchecked


def asking(done: list[str] | None = None) -> Workflow[Any]:
    """A workflow that asks about its `x`, after an effect, and delivers the answer."""

    async def question(state: Any, ctx: Any) -> Any:
        if done is not None:
            await ctx.once("look", lambda: done.append(state["x"]))
        return {"out": await ctx.suspend("ok?", {"about": state["x"]})}

    only = node(question, id="ask", provides=["out"], routes=[route.deliver("out")])
    return unchecked("asking", nodes=[only], inputs=["x"])


def quick(done: list[str]) -> Workflow[Any]:
    async def work(state: Any) -> Any:
        done.append("quick")
        return {"out": "quick"}

    return unchecked(
        "quick", nodes=[node(work, id="w", provides=["out"], routes=[route.deliver("out")])]
    )


async def last(state: Any) -> Any:
    return {"last": True}


async def suspended(workflow: Workflow[Any], store: Any, input: Any, **options: Any) -> Any:
    async with Engine(workflow, store=store, **options) as engine:
        with pytest.raises(RunSuspended) as caught:
            await engine.run(input, run_id="r")
    return caught.value.requests


async def resumed(workflow: Workflow[Any], store: Any, answers: Any, **options: Any) -> Any:
    """What comes of answers in another process: the result, or what is still asked."""
    async with Engine(workflow, store=store, **options) as engine:
        try:
            return await engine.resume("r", answers)
        except RunSuspended as again:
            return again.requests


def about(requests: Any) -> dict[str, str]:
    """The ids of requests, by what they are about."""
    return {request.payload["about"]: request.id for request in requests}


@pytest.mark.case("P046")
async def test_a_branch_that_waits_lets_the_others_finish_and_what_comes_after_runs_once_with_both() -> (
    None
):
    done: list[str] = []
    fan = parallel("fan", {"b": asking(), "c": quick(done)}, routes=[route.to("d")])
    d = node(last, id="d", provides=["last"], routes=[END])
    workflow = unchecked("w", nodes=[fan, d], inputs=["x"])
    store = MemoryStore()
    (request,) = await suspended(workflow, store, {"x": "it"})
    assert (done, request.run_id) == (["quick"], "r/fan#1[b]")
    seen = Recorder()
    assert await resumed(workflow, store, "yes", observers=[seen]) == {
        "x": "it",
        "b": "yes",
        "c": "quick",
        "last": True,
    }
    assert done == ["quick"]
    # The branch that had ended is told of no more.
    assert {fact.run_id for fact in seen.facts} == {"r", "r/fan#1[b]"}


def each(done: list[str], **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"over": "xs", "item": "x", "into": "ys", "routes": [END]}
    return unchecked("w", nodes=[map_each("each", asking(done), **(settings | options))])


async def test_a_collected_failure_is_told_as_progress_once_and_counts_when_the_run_goes_on() -> (
    None
):
    async def question(state: Any, ctx: Any) -> Any:
        if state["x"] == "bad":
            raise ValueError("bad")
        return {"out": await ctx.suspend("ok?", {"about": state["x"]})}

    asks = node(question, id="ask", provides=["out"], routes=[route.deliver("out")])
    inner = unchecked("inner", nodes=[asks], inputs=["x"])
    collect: dict[str, Any] = {"on_branch_error": "collect", "errors": "failed", "routes": [END]}
    made = map_each("each", inner, over="xs", item="x", into="ys", **collect)
    workflow, store = unchecked("w", nodes=[made]), MemoryStore()
    first, second = Recorder(), Recorder()
    await suspended(workflow, store, {"xs": ["bad", "good"]}, observers=[first])
    assert [fact.data["branch"] for fact in first.of("node.progress")] == [0]
    found = await resumed(workflow, store, "fine", observers=[second])
    assert (found["ys"], [failure["branch"] for failure in found["failed"]]) == (["fine"], [0])
    (fact,) = second.of("node.progress")
    assert (fact.data["branch"], fact.data["done"], fact.data["of"]) == (1, 2, 2)


@pytest.mark.case("T019", "T021")
async def test_several_items_wait_together_and_each_is_answered_by_its_own_id() -> None:
    done: list[str] = []
    workflow, store = each(done, concurrency=3), MemoryStore()
    asked = about(await suspended(workflow, store, {"xs": ["a", "b", "c"]}))
    assert list(asked) == ["a", "b", "c"]
    left = await resumed(workflow, store, {asked["b"]: "B"})
    # The others keep what they show, and their ids.
    assert about(left) == {"a": asked["a"], "c": asked["c"]}
    assert about(await resumed(workflow, store, {asked["c"]: "C"})) == {"a": asked["a"]}
    found = await resumed(workflow, store, {asked["a"]: "A"})
    assert found == {"xs": ["a", "b", "c"], "ys": ["A", "B", "C"]}
    assert sorted(done) == ["a", "b", "c"]


async def test_all_answers_at_once_are_as_good() -> None:
    workflow, store = each([]), MemoryStore()
    asked = about(await suspended(workflow, store, {"xs": ["a", "b"]}))
    found = await resumed(workflow, store, {asked["a"]: 1, asked["b"]: 2})
    assert found["ys"] == [1, 2]


@pytest.mark.case("T017", "T023")
async def test_branches_that_have_been_answered_stay_finished() -> None:
    done: list[str] = []
    fan = parallel("fan", dict.fromkeys("abc", asking(done)), routes=[END])
    workflow, store = unchecked("w", nodes=[fan], inputs=["x"]), MemoryStore()
    requests = await suspended(workflow, store, {"x": "it"})
    by_branch = {request.run_id: request.id for request in requests}
    assert len(by_branch) == 3
    for number, (place, id) in enumerate(by_branch.items()):
        left = await resumed(workflow, store, {id: number})
        if number < 2:
            by_place = {request.run_id for request in left}
            assert place not in by_place
            assert len(by_place) == 2 - number
    assert left == {"x": "it", "a": 0, "b": 1, "c": 2}
    assert len(done) == 3


@pytest.mark.case("T009")
async def test_a_join_that_waits_in_a_loop_goes_on_from_what_the_last_round_left() -> None:
    async def count(state: Any) -> Any:
        return {"x": state["x"] + 1}

    ways = [route.finish(dict, lambda state: state["x"] == 2), route.to("count")]
    workflow = unchecked(
        "w",
        nodes=[
            node(count, id="count", provides=["x"], starts_round=True, routes=[route.to("fan")]),
            parallel("fan", {"a": asking()}, routes=ways),
        ],
        inputs=["x"],
        max_rounds=3,
    )
    store = MemoryStore()
    (first,) = await suspended(workflow, store, {"x": 0})
    (second,) = await resumed(workflow, store, "one")
    assert (first.payload, second.payload) == ({"about": 1}, {"about": 2})
    assert await resumed(workflow, store, "two") == {"x": 2, "a": "two"}


async def test_a_collected_failure_is_not_tried_again_when_the_others_go_on() -> None:
    tried: list[str] = []

    async def fails(state: Any) -> Any:
        tried.append("once")
        raise ValueError("no")

    failing = unchecked("failing", nodes=[node(fails, id="f", routes=[END])])
    fan = parallel(
        "fan",
        {"a": asking(), "b": failing},
        on_branch_error="collect",
        errors="bad",
        routes=[END],
    )
    workflow, store = unchecked("w", nodes=[fan], inputs=["x"]), MemoryStore()
    await suspended(workflow, store, {"x": "it"})
    found = await resumed(workflow, store, "yes")
    assert found == {
        "x": "it",
        "a": "yes",
        "bad": [{"branch": "b", "error": "ValueError", "message": "no"}],
    }
    assert tried == ["once"]


async def test_a_failure_beside_a_question_fails_the_node_and_nothing_is_asked() -> None:
    async def fails(state: Any) -> Any:
        raise ValueError("no")

    failing = unchecked("failing", nodes=[node(fails, id="f", routes=[END])])
    fan = parallel("fan", {"a": asking(), "b": failing}, routes=[END])
    workflow = unchecked("w", nodes=[fan], inputs=["x"])
    async with Engine(workflow, store="memory:") as engine:
        with pytest.raises(ValueError, match="no"):
            await engine.run({"x": "it"}, run_id="r")
        (info,) = await engine.runs()
    assert info.status == "failed"


async def test_a_race_in_which_one_waits_is_won_by_another_and_nothing_is_asked() -> None:
    workflow = unchecked(
        "w",
        nodes=[race("first", {"a": asking(), "b": quick([])}, into="won", routes=[END])],
        inputs=["x"],
    )
    async with Engine(workflow, store="memory:") as engine:
        assert await engine.run({"x": "it"}) == {"x": "it", "won": "quick"}


async def test_a_race_in_which_all_wait_is_won_by_the_first_that_is_answered() -> None:
    branches = {"a": asking(), "b": asking()}
    workflow = unchecked(
        "w",
        nodes=[race("first", branches, into="won", winner="who", routes=[END])],
        inputs=["x"],
    )
    store = MemoryStore()
    requests = await suspended(workflow, store, {"x": "it"})
    by_branch = {request.run_id: request.id for request in requests}
    found = await resumed(workflow, store, {by_branch["r/first#1[b]"]: "B"})
    assert found == {"x": "it", "won": "B", "who": "b"}


async def test_what_won_before_a_crash_has_won_after_it() -> None:
    turns: list[str] = []

    def fast(name: str) -> Workflow[Any]:
        async def work(state: Any) -> Any:
            turns.append(name)
            return {"out": name}

        return unchecked(
            name, nodes=[node(work, id="w", provides=["out"], routes=[route.deliver("out")])]
        )

    branches = {"a": fast("a"), "b": fast("b")}
    workflow = unchecked(
        "w", nodes=[race("first", branches, winner="who", routes=[END])], inputs=["x"]
    )
    inner = MemoryStore()
    winner = ""
    for at in range(1, 6):
        await process(workflow, CrashingStore(inner, at, before=False), {"x": 1}, run_id=f"r{at}")
        async with Engine(workflow, store=inner) as engine:
            entries = await engine.history(f"r{at}")
            decided = [entry.data["value"] for entry in entries if entry.data.get("kind") == "race"]
            found = await engine.run({"x": 1}, run_id=f"r{at}")
            if decided:
                winner = decided[0]["winner"]
                assert found["who"] == winner
    assert winner
