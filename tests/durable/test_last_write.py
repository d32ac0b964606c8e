"""The last visit of a run and its end are one write: what decides the end is done before it, and nothing between."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    CancelSignal,
    ContractError,
    Engine,
    NodeContext,
    Route,
    RunCancelled,
    Workflow,
    define_workflow,
    node,
    route,
    subflow,
)
from agentflow.errors import StoreError
from agentflow.run.entries import Claim
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder
from tests.durable.crashing import CrashingStore, FailingStore, process
from tests.run.workflows import alone


class WatchedStore(CrashingStore):
    """Keeps the kinds of entries of each write, with the status that it leaves."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner, 0, before=True)
        self.wrote: list[tuple[list[str], str | None]] = []

    async def append(self, claim: Claim, entries: Any, **options: Any) -> None:
        self.wrote.append(([entry.kind for entry in entries], options.get("status")))
        await super().append(claim, entries, **options)


class Opaque:
    """It has no stored form."""


def ending(end: Route, result: Any = None) -> Workflow[Any]:
    @node(provides=["x"], routes=[route.to("last")])
    async def first(state: Any) -> dict[str, Any]:
        return {"x": 1}

    @node(requires=["x"], routes=[end])
    async def last(state: Any) -> None: ...

    return define_workflow("w", nodes=[first, last], result=result)


ENDS: dict[str, tuple[Workflow[Any], str, str | None]] = {
    "a field is delivered": (ending(route.deliver("x")), "completed", None),
    "a function finishes": (ending(route.finish(dict)), "completed", None),
    "no route matches": (
        ending(route.deliver("x", lambda state: False, reads=["x"])),
        "failed",
        "no route matches",
    ),
    "the result is none of its type": (
        ending(route.finish(lambda state: "x"), list[int]),
        "failed",
        "the result of workflow 'w'",
    ),
    "the result has no stored form": (
        ending(route.finish(lambda state: Opaque())),
        "failed",
        "the result cannot be stored",
    ),
}


@pytest.mark.rule("R259")
@pytest.mark.parametrize(("workflow", "status", "told"), ENDS.values(), ids=ENDS.keys())
async def test_the_last_visit_and_the_end_are_one_write(
    workflow: Workflow[Any], status: str, told: str | None
) -> None:
    store = WatchedStore(MemoryStore())
    run = await process(workflow, store)
    assert store.wrote == [
        (["started"], None),
        (["visit"], None),
        (["visit", "ended"], status),
    ]
    assert run.status == status
    if told is not None:
        with pytest.raises(ContractError, match=told):
            run.outcome()
    async with Engine(workflow, store=store) as engine:
        # An error in one step leaves the commit before it in place.
        assert (await engine.state_at("r", 3))["x"] == 1


async def test_a_sub_workflow_has_written_its_last_visit_when_its_node_goes_on() -> None:
    inner = alone(_given)
    workflow = define_workflow(
        "w",
        nodes=[subflow("a", inner, outputs={"x": "$result"}, routes=[route.deliver("x")])],
        inputs=[],
    )
    store = WatchedStore(MemoryStore())
    await process(workflow, store)
    assert store.wrote == [
        (["started"], None),
        (["visit"], None),
        (["visit", "ended"], "completed"),
    ]


async def _given(state: Any) -> dict[str, Any]:
    return {"x": 1}


@pytest.mark.rule("R321")
async def test_a_cancel_that_comes_with_the_last_route_leaves_the_commit_and_no_result() -> None:
    signal = CancelSignal()

    def finish(state: Any) -> int:
        signal.cancel("too late")
        return 1

    store = WatchedStore(MemoryStore())
    run = await process(ending(route.finish(finish)), store, signal=signal)
    with pytest.raises(RunCancelled, match="too late"):
        run.outcome()
    assert store.wrote[-1] == (["visit", "ended"], "cancelled")


@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("done", [True, False], ids=["written", "not written"])
async def test_a_run_whose_write_has_failed_is_given_back(at: int, done: bool) -> None:
    """Its engine lives on, and so does the store: nobody else would ever take it over."""
    workflow = ending(route.deliver("x"))
    store = FailingStore(MemoryStore(), "append", at, done=done)
    async with Engine(workflow, store=store) as engine:
        with pytest.raises(StoreError):
            await engine.run(run_id="r")
        status = "completed" if done and at == 3 else "interrupted"
        assert [info.status for info in await engine.runs()] == [status]
        assert await engine.run(run_id="r") == 1


async def test_a_commit_is_told_when_it_is_recorded_and_not_before() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": 1}

    for store in (MemoryStore(), FailingStore(MemoryStore(), "append", 2)):
        seen = FactRecorder()
        run = await process(alone(body), store, observers=[seen])
        told = [fact.kind for fact in seen.facts if fact.kind in ("node.committed", "route.taken")]
        if run.status == "completed":
            assert told == ["node.committed", "route.taken"]
            assert seen.facts[-1].kind == "run.completed"
        else:
            assert told == []
