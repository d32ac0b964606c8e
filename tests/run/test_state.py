"""State: a run's own, read-only to nodes, and never the caller's objects."""

from __future__ import annotations

import copy
import dataclasses
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import Engine, append, node, route
from tests.run.workflows import END, alone, line, unchecked


class Order(BaseModel):
    lines: list[str] = []
    total: int = 0


@dataclasses.dataclass
class Basket:
    lines: list[str]


CHANGES = {
    "set a key": lambda state: state.__setitem__("d", 1),
    "delete a key": lambda state: state.__delitem__("d"),
    "update": lambda state: state.update(d=1),
    "pop": lambda state: state.pop("d"),
    "clear": lambda state: state.clear(),
    "setdefault": lambda state: state.setdefault("new", 1),
    "merge in place": lambda state: state.__ior__({"d": 1}),
    "set an attribute": lambda state: setattr(state, "d", 1),
    "append to a list": lambda state: state["d"]["list"].append(1),
    "set an item": lambda state: state["d"]["list"].__setitem__(0, 1),
    "sort": lambda state: state["d"]["list"].sort(),
    "extend in place": lambda state: state["d"]["list"].__iadd__([1]),
    "set a nested key": lambda state: state["d"].__setitem__("list", 1),
    "change a list in a list": lambda state: state["d"]["list"][1].append(1),
    "change a list in a tuple": lambda state: state["d"]["tuple"][0].append(1),
    "add to a set": lambda state: state["d"]["set"].add(1),
}


@pytest.mark.rule("R251")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("source", ["input", "update"])
async def test_the_state_refuses_every_change(change: Any, source: str) -> None:
    data = {"list": [3, [2]], "tuple": ([1],), "set": {1}}
    refusals: list[Exception] = []

    async def fill(state: Any) -> Any:
        return {"d": data} if source == "update" else None

    async def attack(state: Any) -> None:
        with pytest.raises((TypeError, AttributeError)) as caught:
            change(state)
        refusals.append(caught.value)

    workflow = unchecked(
        "w",
        nodes=[
            node(fill, id="a", may_provide=["d"], routes=[route.to("b")]),
            node(attack, id="b", routes=[END]),
        ],
    )
    before = copy.deepcopy(data)
    assert await workflow.run({"d": data} if source == "input" else {}) == {"d": before}
    assert len(refusals) == 1
    assert data == before


@pytest.mark.rule("R251")
@pytest.mark.parametrize("make", [lambda: Order(lines=["a"]), lambda: Basket(lines=["a"])])
@pytest.mark.parametrize("place", ["field", "in a list", "in a dict"])
async def test_objects_are_handed_out_as_copies(make: Any, place: str) -> None:
    held: Any = make()
    values = {"field": held, "in a list": [held], "in a dict": {"k": held}}

    def of(state: Any) -> Any:
        value = state["x"]
        return value if place == "field" else value[0] if place == "in a list" else value["k"]

    async def change(state: Any) -> None:
        of(state).lines.append("b")

    async def look(state: Any) -> Any:
        return {"y": list(of(state).lines)}

    result = await line(change, look).run({"x": values[place]})
    assert result["y"] == ["a"]
    assert held.lines == ["a"]


@pytest.mark.rule("R253")
@pytest.mark.case("P023")
async def test_a_failing_node_that_changed_what_it_was_given_has_no_effect() -> None:
    given = {"order": Order(lines=["a"]), "items": [1]}

    async def spoil(state: Any) -> Any:
        state["order"].lines.append("b")
        state["order"].total = 9
        raise OSError("after the change")

    before = copy.deepcopy(given)
    async with Engine(alone(spoil)).start(given) as run:
        with pytest.raises(OSError, match="after the change"):
            await run.result()
        assert dict(run.state) == before
    assert given == before


@pytest.mark.case("P023")
async def test_appending_to_a_list_of_the_input_is_refused_and_the_caller_keeps_it() -> None:
    async def spoil(state: Any) -> Any:
        state["items"].append(3)
        return {}

    items = [1, 2]
    with pytest.raises(TypeError, match="read-only"):
        await alone(spoil).run({"items": items})
    assert items == [1, 2]


@pytest.mark.case("P026")
async def test_an_object_that_is_changed_and_returned_is_applied() -> None:
    async def change(state: Any) -> Any:
        order = state["x"]
        order.lines.append("b")
        order.total += 1
        return {"x": order}

    async def look(state: Any) -> Any:
        return {"y": state["x"].lines}

    result = await line(change, look).run({"x": Order(lines=["a"])})
    assert result == {"x": Order(lines=["a", "b"], total=1), "y": ["a", "b"]}


@pytest.mark.case("P026")
@pytest.mark.parametrize(
    "change", [lambda s: s.lines.append("b"), lambda s: setattr(s, "total", 1)]
)
async def test_changing_a_state_with_attributes_in_place_is_refused(change: Any) -> None:
    async def spoil(state: Any) -> Any:
        change(state)

    workflow = unchecked("w", nodes=[node(spoil, id="a", routes=[END])], state=Order)
    with pytest.raises((TypeError, AttributeError)):
        await workflow.run()


async def test_what_was_returned_can_be_changed_later_without_effect() -> None:
    kept = Order(lines=["a"])

    async def give(state: Any) -> Any:
        return {"x": kept}

    async def meddle(state: Any) -> None:
        kept.lines.append("b")

    assert (await line(give, meddle).run())["x"] == Order(lines=["a"])


async def test_the_result_is_the_callers_to_change() -> None:
    async def give(state: Any) -> Any:
        return {"x": [{"k": [1]}, ({1}, [2])], "y": Order(lines=["a"])}

    result = await alone(give).run({"z": {"deep": [0]}})
    result["x"][0]["k"].append(2)
    result["x"][1][0].add(2)
    result["x"][1][1].append(3)
    result["z"]["deep"].append(1)
    result["y"].lines.append("b")
    result["new"] = 1
    assert result["x"] == [{"k": [1, 2]}, ({1, 2}, [2, 3])]
    assert type(result) is dict


async def test_two_results_of_one_engine_share_nothing() -> None:
    shared: dict[str, Any] = {"x": [[]]}

    async def give(state: Any) -> Any:
        return shared

    engine = Engine(alone(give))
    first, second = await engine.run(), await engine.run()
    first["x"][0].append(1)
    assert second == {"x": [[]]}
    assert shared == {"x": [[]]}


class Growing(TypedDict, total=False):
    log: Annotated[list[Any], append]


async def test_a_snapshot_does_not_grow_with_the_state() -> None:
    snapshots: list[Any] = []

    async def write(state: Any, ctx: Any) -> Any:
        snapshots.append(ctx.run.state["log"])
        return {"log": [ctx.node_id, Basket(["x"])]}

    nodes = [
        node(write, id=id, provides=["log"], routes=[way])
        for id, way in (("a", route.to("b")), ("b", route.to("c")), ("c", END))
    ]
    workflow = unchecked("w", nodes=nodes, state=Growing, optional_inputs=["log"])
    assert len((await workflow.run({"log": []}))["log"]) == 6
    assert [len(one) for one in snapshots] == [0, 2, 4]


async def test_the_state_of_a_running_run_is_a_snapshot() -> None:
    snapshots: list[Any] = []

    async def one(state: Any, ctx: Any) -> Any:
        snapshots.append(ctx.run.state)
        return {"x": [1]}

    async def two(state: Any, ctx: Any) -> Any:
        snapshots.append(ctx.run.state)
        return {"x": [1, 2]}

    async with Engine(line(one, two)).start({"y": 0}) as run:
        await run.result()
        snapshots.append(run.state)
    assert [dict(one) for one in snapshots] == [
        {"y": 0},
        {"y": 0, "x": [1]},
        {"y": 0, "x": [1, 2]},
    ]
