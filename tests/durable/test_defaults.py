"""Defaults of durable runs: recorded when a run begins, so that it goes on with them; or refused there, by name."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

import pydantic
import pytest

from agentflow import (
    ContractError,
    Engine,
    IncompatibleRun,
    NodeContext,
    Reducer,
    Workflow,
    define_workflow,
    map_each,
    node,
    route,
    subflow,
)
from agentflow.run import journal
from agentflow.run.replay import replay
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process

_numbers: Iterator[int] = itertools.count(1)


class Opaque:
    """An ordinary class: it can be in a state, and has no stored form."""

    total: int


def joined(current: Opaque | None, delta: int) -> Opaque:
    """Count up, in an object."""
    made = Opaque()
    made.total = (current.total if current else 0) + delta
    return made


class Sum(TypedDict):
    whole: NotRequired[Annotated[Any, Reducer(int, joined)]]


@dataclass
class Numbered:
    """Its default differs each time."""

    n: int = field(default_factory=lambda: next(_numbers))
    limit: int = 3
    seen: list[int] = field(default_factory=list)


@dataclass
class OpaqueDataclass:
    thing: Opaque = field(default_factory=Opaque)
    done: bool = False


class OpaqueModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    thing: Opaque = pydantic.Field(default_factory=Opaque)
    done: bool = False


def tell(schema: Any, name: str = "n", **options: Any) -> Workflow[Any]:
    """Two visits, so that there is something between them; delivers a field."""

    @node(routes=[route.to("last")])
    async def first(state: Any, ctx: NodeContext) -> None:
        await ctx.once("look", lambda: state[name])

    @node(requires=[name], routes=[route.deliver(name)])
    async def last(state: Any) -> None: ...

    return define_workflow("tell", nodes=[first, last], state=schema, **options)


@pytest.mark.parametrize("schema", [OpaqueDataclass, OpaqueModel])
async def test_a_default_that_cannot_be_stored_is_refused_when_a_run_begins(schema: Any) -> None:
    workflow = tell(schema, "done")
    store = MemoryStore()
    run = await process(workflow, store)
    told = r"the default of field 'thing' of workflow 'tell' cannot be stored: .*Opaque has no stored form"
    with pytest.raises(ContractError, match=told):
        run.outcome()
    assert await store.find() == []
    # It is no flaw of the definition: without a store nothing is stored.
    assert await workflow.run() is False


async def test_a_default_that_differs_each_time_is_the_same_after_a_restart() -> None:
    workflow = tell(Numbered)
    for at in range(1, 5):
        for before in (True, False):
            store = MemoryStore()
            dead = await process(workflow, CrashingStore(store, at, before=before))
            run = await process(workflow, store)
            if at > 1:
                assert run.outcome() == dead.state["n"]
            async with Engine(workflow, store=store) as engine:
                history = await engine.history("r")
                for record in history:
                    assert (await engine.state_at("r", record.number))["n"] == run.outcome()
                assert history[0].data["defaults"] == {"n": run.outcome(), "limit": 3, "seen": []}


async def test_the_defaults_of_a_sub_workflow_are_the_same_after_a_restart() -> None:
    class Outer(TypedDict):
        one: NotRequired[int]
        two: NotRequired[int]

    inner = tell(Numbered)

    @node(
        requires=["one", "two"], routes=[route.finish(lambda state: [state["one"], state["two"]])]
    )
    async def both(state: Any) -> None: ...

    workflow = define_workflow(
        "w",
        nodes=[
            subflow("a", inner, outputs={"one": "$result"}, routes=[route.to("b")]),
            subflow("b", inner, outputs={"two": "n"}, routes=[route.to("both")]),
            both,
        ],
        state=Outer,
    )
    calm = CrashingStore(MemoryStore(), 0, before=True)
    await process(workflow, calm)
    for at in range(1, calm.writes + 1):
        store = MemoryStore()
        await process(workflow, CrashingStore(store, at, before=False))
        one, two = (await process(workflow, store)).outcome()
        async with Engine(workflow, store=store) as engine:
            looks = [
                record.data["value"]
                for record in await engine.history("r")
                if record.kind == "effect" and record.data["kind"] == "once"
            ]
        # What the first visit of each has seen is what the last one delivers: they are two runs, with a number each.
        assert looks == [one, two]
        assert one != two


async def test_each_of_several_branches_has_defaults_of_its_own_through_restarts() -> None:
    class Outer(TypedDict):
        names: list[str]
        numbers: NotRequired[list[int]]

    @dataclass
    class Named:
        name: str
        n: int = field(default_factory=lambda: next(_numbers))

    inner = tell(Named, inputs=["name"], waive={"AF212": "a test"})
    each = map_each(
        "each", inner, over="names", item="name", into="numbers", routes=[route.deliver("numbers")]
    )
    workflow = define_workflow("w", nodes=[each], state=Outer)
    input = {"names": ["a", "b", "c"]}
    calm = CrashingStore(MemoryStore(), 0, before=True)
    await process(workflow, calm, input)
    for at in range(1, calm.writes + 1):
        store = MemoryStore()
        await process(workflow, CrashingStore(store, at, before=False), input)
        numbers = (await process(workflow, store)).outcome()
        assert len(set(numbers)) == 3
        async with Engine(workflow, store=store) as engine:
            history = await engine.history("r")
            looks = {
                record.frame: record.data["value"]
                for record in history
                if record.kind == "effect" and record.data["kind"] == "once"
            }
            assert [looks[f"/each#1[{at}]"] for at in range(3)] == numbers
            for record in history:
                if record.frame and record.kind == "visit":
                    state = await engine.state_at("r", record.number, record.frame)
                    assert state["n"] == looks[record.frame]


async def test_a_fork_and_a_replay_have_the_defaults_of_the_run() -> None:
    workflow = tell(Numbered)
    store = MemoryStore()
    number = (await process(workflow, store)).outcome()
    async with Engine(workflow, store=store) as engine:
        for at in (1, 3):
            async with await engine.fork("r", at=at, update={"limit": 7}) as fork:
                assert await fork.result() == number
                assert (fork.state["n"], fork.state["limit"]) == (number, 7)
        (info,) = await store.find(run_id="r")
        entries = await store.read("r", after=0)
    assert (await replay(Engine(workflow), info, entries)).same


async def test_a_default_of_a_sub_workflow_that_cannot_be_stored_is_refused_by_name() -> None:
    inner = tell(OpaqueDataclass, "done")
    workflow = define_workflow(
        "w",
        nodes=[subflow("a", inner, outputs={"x": "$result"}, routes=[route.deliver("x")])],
        inputs=[],
    )
    run = await process(workflow, MemoryStore())
    with pytest.raises(
        ContractError, match=r"the default of field 'thing' of workflow 'tell' cannot"
    ):
        run.outcome()


async def test_what_is_given_needs_no_default() -> None:
    made: list[int] = []

    @dataclass
    class State:
        n: int = field(default_factory=lambda: made.append(1) or 7)  # type: ignore[func-returns-value]

    @node(routes=[route.deliver("n")])
    async def only(state: Any) -> None: ...

    workflow = define_workflow("w", nodes=[only], state=State, optional_inputs=["n"])
    store = MemoryStore()
    assert (await process(workflow, store, {"n": 1})).outcome() == 1
    assert made == []
    assert (await process(workflow, store, run_id="s")).outcome() == 7


async def test_a_run_keeps_its_defaults_when_those_of_the_definition_have_changed() -> None:
    def version(*fields: Any) -> Workflow[Any]:
        return tell(dataclasses.make_dataclass("State", fields), "limit")

    old = version(("limit", int, 3))
    store = MemoryStore()
    for run_id in ("changed", "grown", "shrunk"):
        await process(old, CrashingStore(store, 2, before=False), run_id=run_id)
    assert (await process(version(("limit", int, 5)), store, run_id="changed")).outcome() == 3
    grown = version(("limit", int, 3), ("more", int, 9))
    run = await process(grown, store, run_id="grown")
    assert (run.outcome(), run.state["more"]) == (3, 9)
    other = tell(dataclasses.make_dataclass("State", [("more", int, 9)]), "more")
    run = await process(other, store, run_id="shrunk")
    with pytest.raises(IncompatibleRun, match="the state has no field 'limit' any more"):
        run.outcome()
    assert run.status == "interrupted"


async def test_a_run_that_has_ended_is_told_although_a_default_has_become_unstorable() -> None:
    store = MemoryStore()
    old = tell(dataclasses.make_dataclass("State", [("n", int, 3)]))
    await process(old, store)
    new = tell(
        dataclasses.make_dataclass(
            "State", [("n", int, 3), ("thing", Opaque, field(default_factory=Opaque))]
        )
    )
    assert (await process(new, store)).outcome() == 3


async def test_a_whole_that_cannot_be_stored_is_no_reason_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reducer may make what has no stored form, of parts that have one: such a state has no snapshot, and needs none."""
    monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)

    @node(
        provides=["whole"],
        starts_round=True,
        routes=[
            route.to("add", lambda state: state["whole"].total < 4),
            route.finish(lambda state: state["whole"].total),
        ],
    )
    async def add(state: Any) -> dict[str, Any]:
        return {"whole": 1}

    workflow = define_workflow("w", nodes=[add], state=Sum, max_rounds=5)
    for at in range(1, 6):
        store = MemoryStore()
        await process(workflow, CrashingStore(store, at, before=False))
        assert (await process(workflow, store)).outcome() == 4
