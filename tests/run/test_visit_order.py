"""One visit, in one order: check, run, check, validate, commit, route, enter or deliver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from agentflow import (
    CancelSignal,
    ContractError,
    Engine,
    RunCancelled,
    field,
    node,
    route,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


class Probe(Mapping[str, Any]):
    """An update that tells when the engine looks into it."""

    def __init__(self, values: dict[str, Any], looked: Any) -> None:
        self._values = values
        self._looked = looked

    def __getitem__(self, key: str) -> Any:
        self._looked()
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def traced(trace: list[str], during: dict[str, Any]) -> Any:
    """A workflow of two nodes whose every phase writes its name, and then does what `during` says."""

    def phase(name: str, value: Any = None) -> Any:
        trace.append(name)
        during.get(name, lambda: None)()
        return value

    async def first(state: Any) -> Any:
        phase("run a")
        return Probe({"x": 1}, lambda: phase("validate a"))

    async def second(state: Any) -> None:
        phase("run b")

    def checked(value: int) -> int:
        return int(phase("check result", value))

    return unchecked(
        "traced",
        nodes=[
            node(
                first,
                id="a",
                requires=["go"],
                provides=["x"],
                routes=[route.to("b", lambda state: bool(phase(f"route a, x={state['x']}", True)))],
            ),
            node(second, id="b", routes=[route.finish(lambda state: phase("finish", state["x"]))]),
        ],
        result=Annotated[int, AfterValidator(checked)],
    )


WHOLE = ["run a", "validate a", "route a, x=1", "run b", "finish", "check result"]


@pytest.mark.rule("R248", "R269")
async def test_the_phases_of_a_visit_come_in_one_order() -> None:
    trace: list[str] = []
    assert await traced(trace, {}).run({"go": True}) == 1
    assert trace == WHOLE


@pytest.mark.rule("R248")
async def test_facts_tell_the_phases_in_the_same_order() -> None:
    seen = Recorder()
    await traced([], {}).run({"go": True}, observers=[seen])
    phases = ["node.started", "node.committed", "route.taken"]
    assert seen.kinds == ["run.started", "round.started", *phases, *phases, "run.completed"]


@pytest.mark.rule("R321")
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(
    ("gap", "reached"),
    [
        ("run a", ["run a"]),
        ("validate a", WHOLE[:3]),
        ("route a, x=1", WHOLE[:3]),
        ("run b", WHOLE[:4]),
        ("finish", WHOLE),
        ("check result", WHOLE),
    ],
)
async def test_a_cancel_in_any_gap_ends_the_run(
    gap: str, reached: list[str], watched: bool
) -> None:
    trace: list[str] = []
    signal = CancelSignal()
    workflow = traced(trace, {gap: lambda: signal.cancel(gap)})
    seen = Recorder()
    with pytest.raises(RunCancelled) as caught:
        await workflow.run({"go": True}, signal=signal, observers=[seen] if watched else [])
    assert caught.value.reason == gap
    assert trace == reached
    assert seen.kinds[-1:] == (["run.cancelled"] if watched else [])


@pytest.mark.rule("R321", "R322")
async def test_a_cancel_in_the_body_leaves_its_update_uncommitted() -> None:
    async def own_end(state: Any, ctx: Any) -> Any:
        ctx.signal.cancel("enough")
        return {"x": 1}

    async with Engine(alone(own_end)).start() as run:
        with pytest.raises(RunCancelled, match="enough"):
            await run.result()
        assert dict(run.state) == {}
        assert run.status == "cancelled"


@pytest.mark.rule("R321")
async def test_a_run_that_is_cancelled_before_it_starts_runs_nothing() -> None:
    trace: list[str] = []
    signal = CancelSignal()
    signal.cancel("too late")
    seen = Recorder()
    with pytest.raises(RunCancelled, match="too late"):
        await traced(trace, {}).run({"go": True}, signal=signal, observers=[seen])
    assert trace == []
    assert seen.kinds == ["run.cancelled"]


@pytest.mark.rule("R249")
async def test_a_missing_required_field_stops_before_the_body() -> None:
    ran: list[str] = []

    async def body(state: Any) -> None:
        ran.append("body")

    workflow = unchecked("w", nodes=[node(body, id="a", requires=["x"], routes=[END])])
    with pytest.raises(ContractError, match="node 'a' requires the field 'x'"):
        await workflow.run({"y": 1})
    assert ran == []


@pytest.mark.rule("R249")
async def test_a_required_field_that_is_none_is_there() -> None:
    workflow = unchecked("w", nodes=[node(nothing, id="a", requires=["x"], routes=[END])])
    assert await workflow.run({"x": None}) == {"x": None}


@pytest.mark.rule("R250")
@pytest.mark.parametrize("with_context", [False, True])
@pytest.mark.parametrize("plain", [False, True])
async def test_nodes_may_be_plain_or_async_with_or_without_context(
    plain: bool, with_context: bool
) -> None:
    async def one(state: Any) -> Any:
        return {"x": state["y"]}

    async def two(state: Any, ctx: Any) -> Any:
        return {"x": state["y"], "y": ctx.node_id}

    def three(state: Any) -> Any:
        return {"x": state["y"]}

    def four(state: Any, ctx: Any) -> Any:
        return {"x": state["y"], "y": ctx.node_id}

    functions: list[list[Any]] = [[one, two], [three, four]]
    expected = {"x": 7, "y": "only" if with_context else 7}
    assert await alone(functions[plain][with_context]).run({"y": 7}) == expected


@pytest.mark.rule("R263", "R264")
async def test_the_first_matching_route_is_taken_and_no_other() -> None:
    seen = Recorder()
    routes = [
        route.to("c", field("x") == 2),
        route.to("b", lambda state: True),
        route.to("c", lambda state: True),
    ]
    workflow = unchecked(
        "w",
        nodes=[
            node(nothing, id="a", routes=routes),
            node(nothing, id="b", routes=[END]),
            node(nothing, id="c", routes=[END]),
        ],
    )
    await workflow.run({"x": 1}, observers=[seen])
    assert seen.visited() == ["a", "b"]
    taken = [dict(fact.data) for fact in seen.of("route.taken")]
    assert taken[0] == {"index": 1, "route": "to", "target": "b"}


@pytest.mark.case("T001")
@pytest.mark.parametrize(("x", "path"), [(1, "abef"), (2, "acef"), (3, "adf")])
async def test_every_node_of_the_taken_path_runs(x: int, path: str) -> None:
    nodes = [
        node(
            nothing,
            id="a",
            routes=[
                route.to("b", field("x") == 1),
                route.to("c", field("x") == 2),
                route.to("d"),
            ],
        ),
        node(nothing, id="b", routes=[route.to("e")]),
        node(nothing, id="c", routes=[route.to("e")]),
        node(nothing, id="d", routes=[route.to("f")]),
        node(nothing, id="e", routes=[route.to("f")]),
        node(nothing, id="f", routes=[END]),
    ]
    seen = Recorder()
    await unchecked("w", nodes=nodes).run({"x": x}, observers=[seen])
    assert "".join(map(str, seen.visited())) == path


@pytest.mark.case("T003")
@pytest.mark.parametrize("way", ["a", "b"])
async def test_a_node_that_two_branches_lead_to_is_visited_once(way: str) -> None:
    async def count(state: Any) -> Any:
        return {"n": state.get("n", 0) + 1}

    workflow = unchecked(
        "w",
        nodes=[
            node(nothing, id="s", routes=[route.to_if_equal("a", "way", "a"), route.to("b")]),
            node(nothing, id="a", routes=[route.to("c")]),
            node(nothing, id="b", routes=[route.to("c")]),
            node(count, id="c", provides=["n"], routes=[route.deliver("n")]),
        ],
    )
    assert await workflow.run({"way": way}) == 1


@pytest.mark.rule("R252")
async def test_a_node_leaves_the_fields_it_does_not_return_alone() -> None:
    async def change(state: Any) -> Any:
        return {"y": 2}

    assert await line(nothing, change).run({"x": 1, "y": 1, "z": 1}) == {"x": 1, "y": 2, "z": 1}
