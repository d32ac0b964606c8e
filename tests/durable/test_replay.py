"""Replay: today's code makes a recorded run again without doing anything outside, and the first difference is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings, strategies

from agentflow import (
    Engine,
    NodeContext,
    Retry,
    RunConflict,
    Workflow,
    node,
    parallel,
    race,
    route,
)
from agentflow.mock import MockModel, Rule
from agentflow.run.replay import Replayed, replay
from agentflow.stores.memory import MemoryStore
from tests.durable.abreast import BUDGET, INPUT, Paced, abreast
from tests.durable.shelf import SHELF, Place, double, model
from tests.durable.test_everywhere import life
from tests.run.workflows import END, unchecked


async def replayed(
    workflow: Workflow[Any], store: Any, run_id: str = "r", **given: Any
) -> Replayed:
    """Replay a stored run against a definition, whose models and tools refuse to be called."""
    options = {name: given.pop(name) for name in ("deps", "context") if name in given}
    await store.open()
    (info,) = await store.find(run_id=run_id)
    entries = await store.read(run_id, after=0)
    found = await replay(Engine(workflow, **given), info, entries, **options)
    assert await store.read(run_id, after=0) == entries
    return found


async def recorded(workflow: Workflow[Any], input: Any = None, **options: Any) -> MemoryStore:
    """The store of a run, however it ended."""
    engine = {name: options.pop(name) for name in ("model", "tools", "budget") if name in options}
    store = MemoryStore()
    async with (
        Engine(workflow, store=store, **engine) as running,
        running.start(input, run_id="r", **options) as run,
    ):
        await run.settled()
    return store


@pytest.mark.parametrize("name", SHELF)
async def test_the_same_code_does_the_same_and_nothing_outside(name: str) -> None:
    sample = SHELF[name]
    lived = await life(sample, [])
    place, asked = Place(), model()
    found = await replayed(sample.make(), lived.store, model=asked, tools=[double], deps=place)
    entries = await lived.store.read("r", after=0)
    made = sum(entry.kind in ("visit", "failed") for entry in entries)
    assert found == Replayed("r", made)
    assert not place.done
    assert not asked.requests


@settings(max_examples=20)
@given(seed=strategies.integers(0, 1_000_000), pace=strategies.integers(0, 1_000_000))
async def test_branches_do_the_same_at_any_pace(seed: int, pace: int) -> None:
    store = await recorded(abreast(), INPUT, deps=Paced(seed), budget=BUDGET)
    world = Paced(pace)
    found = await replayed(abreast(), store, deps=world)
    assert found.difference is None
    assert not world.done


def steps(
    *,
    gives: Any = 1,
    fails: Exception | None = None,
    asks: str = "what?",
    more: bool = False,
    keys: tuple[str, ...] = ("a",),
    way: str = "last",
    result: str = "y",
    retry: Retry | None = None,
) -> Workflow[Any]:
    """A workflow whose parts can be changed one by one."""

    async def first(state: Any, ctx: NodeContext) -> Any:
        for key in keys:
            await ctx.once(key, lambda: "done")
        if fails is not None:
            raise fails
        return {"x": gives}

    async def last(state: Any, ctx: NodeContext) -> Any:
        reply = await ctx.model.invoke(asks)
        if more:
            await ctx.model.invoke("more?")
        return {"y": reply.value, "z": 2}

    async def mend(state: Any, ctx: NodeContext) -> Any:
        return {"y": ctx.failure.message if ctx.failure else "", "z": 0}

    return unchecked(
        "steps",
        nodes=[
            node(
                first,
                id="first",
                provides=["x"],
                retry=retry,
                on_error="mend",
                routes=[route.to(way)],
            ),
            node(last, id="last", provides=["y", "z"], routes=[route.deliver(result)]),
            node(mend, id="mend", provides=["y", "z"], routes=[route.deliver("y")]),
        ],
    )


def answering() -> MockModel:
    return MockModel(rules=[Rule(reply="that")])


CHANGES: dict[str, tuple[Callable[[], Workflow[Any]], str]] = {
    "another value": (
        lambda: steps(gives=2),
        "/first#1: the field 'x': expected 1, got 2",
    ),
    "another route": (
        lambda: steps(way="mend"),
        "/first#1: its route: expected route 1 to last, got route 1 to mend",
    ),
    "a failure": (
        lambda: steps(fails=ValueError("no")),
        "/first#1: its end: expected an update of x, got the failure ValueError: no",
    ),
    "another effect": (
        lambda: steps(keys=("b",)),
        "/first#1: an effect of the kind 'once': expected only what is recorded, got another one, 'r/first#1/b'",
    ),
    "one effect more": (
        lambda: steps(keys=("a", "b")),
        "/first#1: an effect of the kind 'once': expected only what is recorded, got another one",
    ),
    "another question": (
        lambda: steps(asks="who?"),
        "the model effect",
    ),
    "one call more": (
        lambda: steps(more=True),
        "/last#1: an effect of the kind 'model': expected only what is recorded",
    ),
    "another result": (
        lambda: steps(result="z"),
        'the end of the run: the outcome: expected the result "that", got the result 2',
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_first_difference_is_told_with_its_place(change: str) -> None:
    make, said = CHANGES[change]
    store = await recorded(steps(), model=answering())
    assert (await replayed(steps(), store, model=answering())).same
    found = await replayed(make(), store, model=answering())
    assert not found.same
    assert said in str(found.difference)


async def test_failures_are_made_again_retries_and_error_nodes_with_them() -> None:
    broken = steps(fails=ValueError("no"), retry=Retry(2))
    store = await recorded(broken, model=answering())
    assert (await replayed(broken, store, model=answering())).same
    found = await replayed(steps(retry=Retry(2)), store, model=answering())
    assert "expected the failure ValueError: no, got an update of x" in str(found.difference)
    other = await replayed(steps(fails=ValueError("yes"), retry=Retry(2)), store, model=answering())
    assert "a failed attempt: expected ValueError: no, got ValueError: yes" in str(other.difference)


async def test_a_run_that_failed_fails_again_and_another_error_is_a_difference() -> None:
    def failing(message: str) -> Workflow[Any]:
        async def fail(state: Any) -> Any:
            raise ValueError(message)

        return unchecked("w", nodes=[node(fail, id="f", routes=[END])])

    store = await recorded(failing("no"))
    assert (await replayed(failing("no"), store)).same
    found = await replayed(failing("yes"), store)
    assert "the outcome: expected ValueError: no, got ValueError: yes" in str(found.difference)


async def test_an_effect_that_failed_and_was_caught_fails_again() -> None:
    class Boom(Exception):
        """Known to nobody else."""

    tries: list[str] = []

    def careful(error: Exception | None) -> Workflow[Any]:
        async def body(state: Any, ctx: NodeContext) -> Any:
            def act() -> str:
                tries.append("act")
                if error is not None:
                    raise error
                return "acted"

            try:
                return {"x": await ctx.once("act", act)}
            except Exception as caught:
                return {"x": f"{type(caught).__name__}: {caught}"}

        return unchecked("w", nodes=[node(body, id="b", provides=["x"], routes=[END])])

    for error in (LookupError("gone"), Boom("own")):
        tries.clear()
        store = await recorded(careful(error))
        # Nothing is tried again: the failure is recorded too.
        assert (await replayed(careful(None), store)).same
        assert tries == ["act"]


async def test_a_run_that_waits_or_was_interrupted_is_compared_as_far_as_it_came() -> None:
    def asking(prompt: str) -> Workflow[Any]:
        async def first(state: Any) -> Any:
            return {"x": prompt}

        async def body(state: Any, ctx: NodeContext) -> Any:
            return {"y": await ctx.suspend("ok?", "please")}

        return unchecked(
            "w",
            nodes=[
                node(first, id="first", provides=["x"], routes=[route.to("ask")]),
                node(body, id="ask", provides=["y"], routes=[END]),
            ],
        )

    store = await recorded(asking("a"))
    assert await replayed(asking("a"), store) == Replayed("r", 1)
    assert not (await replayed(asking("b"), store)).same
    async with Engine(asking("a"), store=store) as engine:
        await engine.resume("r", "yes")
    assert await replayed(asking("a"), store) == Replayed("r", 2)


async def test_branches_that_were_cancelled_are_not_waited_for() -> None:
    async def forever(state: Any, ctx: NodeContext) -> Any:
        await ctx.once("begin", lambda: 1)
        await anyio.sleep_forever()

    async def fails(state: Any, ctx: NodeContext) -> Any:
        await anyio.lowlevel.checkpoint()
        raise ValueError("no")

    async def mend(state: Any) -> Any:
        return {"x": "mended"}

    def flow(function: Any) -> Workflow[Any]:
        return unchecked("flow", nodes=[node(function, id="n", routes=[END])])

    async def wins(state: Any) -> Any:
        return {"out": 1}

    quick = unchecked(
        "quick", nodes=[node(wins, id="q", provides=["out"], routes=[route.deliver("out")])]
    )
    workflow = unchecked(
        "w",
        nodes=[
            race("first", {"a": flow(forever), "b": quick}, winner="who", routes=[route.to("fan")]),
            parallel("fan", {"a": flow(forever), "b": flow(fails)}, on_error="mend", routes=[END]),
            node(mend, id="mend", provides=["x"], routes=[END]),
        ],
    )
    with anyio.fail_after(5):
        store = await recorded(workflow)
        found = await replayed(workflow, store)
    assert found.difference is None


async def test_a_fork_is_compared_from_its_edit_on() -> None:
    def doubling(factor: int) -> Workflow[Any]:
        async def first(state: Any) -> Any:
            return {"x": 1}

        async def last(state: Any) -> Any:
            return {"y": state["x"] * factor}

        return unchecked(
            "w",
            nodes=[
                node(first, id="first", provides=["x"], routes=[route.to("last")]),
                node(last, id="last", provides=["y"], routes=[route.deliver("y")]),
            ],
        )

    store = await recorded(doubling(2))
    async with (
        Engine(doubling(2), store=store) as engine,
        await engine.fork("r", at=2, update={"x": 5}, new_id="f") as run,
    ):
        assert await run.result() == 10
    assert await replayed(doubling(2), store, "f") == Replayed("f", 1)
    assert "/last#1: the field 'y': expected 10, got 15" in str(
        (await replayed(doubling(3), store, "f")).difference
    )


async def test_a_run_of_another_workflow_is_refused() -> None:
    store = await recorded(steps(), model=answering())
    with pytest.raises(RunConflict, match="is one of workflow 'steps'"):
        await replayed(abreast(), store)


async def test_a_body_that_swallows_the_difference_is_told_of_all_the_same() -> None:
    def swallowing(key: str) -> Workflow[Any]:
        async def body(state: Any, ctx: NodeContext) -> Any:
            with contextlib.suppress(Exception):
                await ctx.once(key, lambda: 1)
            return {"x": 1}

        return unchecked("w", nodes=[node(body, id="b", provides=["x"], routes=[END])])

    store = await recorded(swallowing("a"))
    assert not (await replayed(swallowing("b"), store)).same
