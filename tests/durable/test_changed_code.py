"""A run meets the code of another day: what still fits goes on, what does not is named, and nothing is guessed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import AfterValidator, BeforeValidator, Json

from agentflow import Engine, IncompatibleRun, Workflow, append, define_workflow, node, route
from agentflow.run import journal
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.graph import stored_values as kit

Change = Callable[[], Workflow[Any]]


def steps(
    *,
    second: str = "second",
    hint: Any = int,
    routes: int = 2,
    writes: str = "m",
    on_error: str | None = None,
    fails: bool = False,
) -> Workflow[Any]:
    """Three nodes in a line; the options are what a later version of the code may have changed."""
    fields: Any = {"n": int, writes: NotRequired[hint], "sum": NotRequired[int]}
    state: Any = TypedDict("state", fields)  # type: ignore[misc]

    @node(
        requires=["n"],
        provides=[writes],
        on_error=on_error,
        routes=[route.to(second if routes == 2 else "third")],
    )
    async def first(state: Any) -> dict[str, Any]:
        if fails:
            raise ValueError("first fails")
        return {writes: hint(7)}

    @node(id=second, routes=[route.to("third")])
    async def between(state: Any) -> None: ...

    @node(provides=["sum"], routes=[route.deliver("sum")])
    async def third(state: Any) -> dict[str, Any]:
        return {"sum": 1}

    nodes = [first, between, third] if routes == 2 else [first, third]
    return define_workflow("steps", nodes=nodes, state=state, inputs=["n"])


async def stopped(workflow: Workflow[Any], at: int, store: MemoryStore) -> None:
    """Let the process of a run die right after its write `at`."""
    run = await process(workflow, CrashingStore(store, at, before=False), {"n": 1})
    assert run.status == "interrupted"


CHANGES: dict[str, tuple[Change, str]] = {
    "a node has another name": (
        lambda: steps(second="other"),
        "the route that was taken from node 'first' led to node 'second'; today it leads to node 'other'",
    ),
    "the route that was taken is gone": (
        lambda: steps(routes=1),
        "the route that was taken from node 'first' led to node 'second'; today it leads to node 'third'",
    ),
    "a node writes another field": (
        lambda: steps(writes="k"),
        "node 'first' does not write the field 'm' any more",
    ),
    "a field has another type": (
        lambda: steps(hint=list),
        "the stored value of field 'm' is none of its type any more: .*list",
    ),
}


@pytest.mark.case("P059")
@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_definition_that_does_not_fit_is_named_and_the_run_is_kept(
    change: Change, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for snapshots in (False, True):
        if snapshots:
            monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)
        store = MemoryStore()
        await stopped(steps(), 4 if snapshots else 3, store)
        assert (store._runs["r"].snapshot is not None) is snapshots
        before = await store.read("r", after=0)
        async with Engine(change(), store=store) as engine:
            with pytest.raises(IncompatibleRun, match=None if snapshots else said):
                await engine.run({"n": 1}, run_id="r")
            (info,) = await engine.runs()
            assert info.status == "interrupted"
        assert await store.read("r", after=0) == before
        # The right code can go on with it.
        async with Engine(steps(), store=store) as engine:
            assert await engine.run({"n": 1}, run_id="r") == 1


class Closed(TypedDict):
    sum: NotRequired[int]


async def test_an_input_that_is_taken_no_more_is_named_and_is_no_failure() -> None:
    @node(provides=["sum"], routes=[route.deliver("sum")])
    async def first(state: Any) -> dict[str, Any]:
        return {"sum": 1}

    store = MemoryStore()
    await stopped(steps(), 2, store)
    changed = define_workflow("steps", nodes=[first], state=Closed, inputs=[])
    async with Engine(changed, store=store) as engine:
        with pytest.raises(IncompatibleRun, match="takes no input field 'n'"):
            await engine.run(run_id="r")
        assert [info.status for info in await engine.runs()] == ["interrupted"]


async def test_a_route_number_that_is_gone_is_named() -> None:
    @node(provides=["x"], routes=[route.to("b", when=lambda state: False), route.to("c")])
    async def a(state: Any) -> dict[str, Any]:
        return {"x": 1}

    @node(id="a", provides=["x"], routes=[route.to("c")])
    async def shorter(state: Any) -> dict[str, Any]:
        return {"x": 1}

    @node(routes=[route.to("c")])
    async def b(state: Any) -> None: ...

    @node(routes=[route.deliver("x")])
    async def c(state: Any) -> None: ...

    store = MemoryStore()
    await stopped(define_workflow("w", nodes=[a, b, c], inputs=["n"]), 2, store)
    async with Engine(
        define_workflow("w", nodes=[shorter, c], inputs=["n"]), store=store
    ) as engine:
        with pytest.raises(IncompatibleRun, match="node 'a' does not have the route any more"):
            await engine.run({"n": 1}, run_id="r")


async def test_an_error_node_that_is_gone_is_named() -> None:
    store = MemoryStore()
    await stopped(steps(on_error="third", fails=True), 2, store)
    async with Engine(steps(), store=store) as engine:
        with pytest.raises(IncompatibleRun, match="node 'first' has no on_error node any more"):
            await engine.run({"n": 1}, run_id="r")


async def test_a_class_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    @node(provides=["x"], routes=[route.to("b")])
    async def a(state: Any) -> dict[str, Any]:
        return {"x": kit.Plain("ada")}

    @node(routes=[route.deliver("x")])
    async def b(state: Any) -> None: ...

    workflow = define_workflow("w", nodes=[a, b], inputs=["n"])
    store = MemoryStore()
    await stopped(workflow, 2, store)
    plain = kit.Plain
    monkeypatch.delattr(kit, "Plain")
    async with Engine(workflow, store=store) as engine:
        with pytest.raises(IncompatibleRun, match=r"field 'x' .*stored_values:Plain is not there"):
            await engine.run({"n": 1}, run_id="r")
        monkeypatch.setattr(kit, "Plain", plain, raising=False)
        assert await engine.run({"n": 1}, run_id="r") == kit.Plain("ada")


async def test_a_class_of_the_input_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    @node(provides=["x"], routes=[route.deliver("x")])
    async def a(state: Any) -> dict[str, Any]:
        return {"x": state["n"]}

    workflow = define_workflow("w", nodes=[a], inputs=["n"])
    store = MemoryStore()
    await process(workflow, CrashingStore(store, 1, before=False), {"n": kit.Colour.RED})
    colour = kit.Colour
    monkeypatch.delattr(kit, "Colour")
    async with Engine(workflow, store=store) as engine:
        with pytest.raises(IncompatibleRun, match="the input cannot be restored"):
            await engine.run(run_id="r")
        assert [info.status for info in await engine.runs()] == ["interrupted"]
        monkeypatch.setattr(kit, "Colour", colour, raising=False)
        assert await engine.run(run_id="r") is kit.Colour.RED


async def test_a_value_of_a_wider_type_fits() -> None:
    store = MemoryStore()
    await stopped(steps(), 2, store)
    async with Engine(steps(hint=float), store=store) as engine:
        async with engine.start({"n": 1}, run_id="r") as run:
            assert await run.result() == 1
        assert type(run.state["m"]) is float


def _louder(text: str) -> str:
    return f"{text}!"


def _read(text: Any) -> Any:
    return text.split()


class Odd(TypedDict):
    n: int
    loud: NotRequired[Annotated[str, AfterValidator(_louder)]]
    words: NotRequired[Annotated[list[str], BeforeValidator(_read)]]
    data: NotRequired[Json[list[int]]]
    log: NotRequired[Annotated[list[Annotated[str, AfterValidator(_louder)]], append]]


@pytest.mark.rule("R258")
async def test_a_value_is_validated_once_however_often_the_run_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A validator may change what it is given, or take nothing that it has made itself."""

    @node(provides=["loud", "words", "data", "log"], routes=[route.to("b")])
    async def a(state: Odd) -> dict[str, Any]:
        return {"loud": "hey", "words": "a b", "data": "[1, 2]", "log": ["one"]}

    @node(provides=["log"], routes=[route.to("c")])
    async def b(state: Odd) -> dict[str, Any]:
        return {"log": ["two"]}

    @node(routes=[route.finish(dict)])
    async def c(state: Odd) -> None: ...

    workflow = define_workflow("w", nodes=[a, b, c], state=Odd, inputs=["n"])
    expected = {
        "n": 1,
        "loud": "hey!",
        "words": ["a", "b"],
        "data": [1, 2],
        "log": ["one!", "two!"],
    }
    for least, writes in ((0, 4), (1 << 20, 3)):
        monkeypatch.setattr(journal, "_LEAST_WEIGHT", least)
        for at in range(1, writes + 1):
            store = MemoryStore()
            await stopped(workflow, at, store)
            async with Engine(workflow, store=store) as engine:
                assert await engine.run({"n": 1}, run_id="r") == expected
                (info,) = await engine.runs()
                assert dict(await engine.state_at("r", info.last)) == expected


async def test_a_dataclass_that_has_grown_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    @node(provides=["x"], routes=[route.to("b")])
    async def a(state: Any) -> dict[str, Any]:
        return {"x": kit.Box(1)}

    @node(routes=[route.deliver("x")])
    async def b(state: Any) -> None: ...

    @dataclasses.dataclass
    class Box:
        inside: int
        label: str = "none"

    workflow = define_workflow("w", nodes=[a, b], inputs=["n"])
    store = MemoryStore()
    await stopped(workflow, 2, store)
    Box.__module__, Box.__qualname__ = kit.__name__, "Box"
    monkeypatch.setattr(kit, "Box", Box)
    async with Engine(workflow, store=store) as engine:
        assert await engine.run({"n": 1}, run_id="r") == Box(1, "none")
