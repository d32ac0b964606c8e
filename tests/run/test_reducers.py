"""Reducers in a run: joined whole or not at all, on what nobody else can change."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, TypedDict

import pytest

from agentflow import ContractError, Engine, Reducer, add, append, merge, node, route, union
from tests.run.workflows import END, unchecked


class Joined(TypedDict, total=False):
    log: Annotated[list[Any], append]
    count: Annotated[int, add]
    seen: Annotated[dict[str, int], merge]
    names: Annotated[set[str], union]


def twice(update: Any, **options: Any) -> Any:
    """A workflow of two nodes that give the same update."""

    async def give(state: Any) -> Any:
        return update

    ways = [route.to("b"), END]
    nodes = [
        node(give, id=id, may_provide=list(update), routes=[way])
        for id, way in zip("ab", ways, strict=True)
    ]
    return unchecked("twice", nodes=nodes, **{"state": Joined} | options)


@pytest.mark.parametrize(
    ("update", "result"),
    [
        ({"log": ["x"]}, {"log": ["x", "x"]}),
        ({"count": 2}, {"count": 4}),
        ({"seen": {"a": 1}}, {"seen": {"a": 1}}),
        ({"names": {"a"}}, {"names": {"a"}}),
        ({"log": [], "count": 0}, {"log": [], "count": 0}),
    ],
)
async def test_updates_are_joined_with_what_is_there(update: Any, result: Any) -> None:
    assert await twice(update).run() == result


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"log": [0]}, {"log": [0, "x", "x"], "count": 2}),
        ({"count": 5}, {"log": ["x", "x"], "count": 7}),
    ],
)
async def test_they_are_joined_with_what_the_run_was_given(given: Any, result: Any) -> None:
    workflow = twice({"log": ["x"], "count": 1}, optional_inputs=["log", "count"])
    before = {name: list(value) if name == "log" else value for name, value in given.items()}
    assert await workflow.run(given) == result
    assert given == before


@pytest.mark.rule("R256")
async def test_a_delta_that_is_invalid_keeps_all_fields_out() -> None:
    async with Engine(twice({"log": ["x"], "count": "many"})).start() as run:
        with pytest.raises(ContractError, match="field 'count'"):
            await run.result()
        assert dict(run.state) == {}


@dataclasses.dataclass
class Basket:
    lines: list[str]


def spoil(current: Basket | None, delta: Basket) -> Basket:
    if current is None:
        return delta
    current.lines.append("spoilt")
    delta.lines.append("spoilt too")
    raise OSError("half-way")


class Spoilt(TypedDict, total=False):
    basket: Annotated[Basket, Reducer(None, spoil)]
    log: Annotated[list[str], append]


@pytest.mark.rule("R256")
async def test_a_reducer_that_fails_half_way_changes_nothing() -> None:
    mine = Basket(["mine"])
    workflow = twice({"log": ["x"], "basket": mine}, state=Spoilt)
    async with Engine(workflow).start() as run:
        with pytest.raises(ContractError, match="field 'basket', reducer spoil: OSError: half-way"):
            await run.result()
        assert dict(run.state) == {"log": ["x"], "basket": Basket(["mine"])}
    assert mine == Basket(["mine"])


async def test_a_run_that_grows_a_list_does_not_grow_that_of_another() -> None:
    engine = Engine(twice({"log": ["x"]}, optional_inputs=["log"]))
    first = await engine.run({"log": []})
    second = await engine.run({"log": first["log"]})
    assert (first["log"], second["log"]) == (["x"] * 2, ["x"] * 4)
