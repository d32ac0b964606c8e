"""Nodes that hold several workflows: what a declaration adds to the node, and what cannot be read."""

from __future__ import annotations

import dataclasses
from typing import Any, NotRequired, TypedDict

import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Node,
    Retry,
    Workflow,
    define_workflow,
    map_each,
    node,
    parallel,
    race,
    route,
    subflow,
    validate,
)
from agentflow.graph.kinds import MapEach, Parallel, Race
from agentflow.graph.workflow import assemble
from tests.graph.definitions import at, codes


class Inner(TypedDict):
    city: str
    unit: NotRequired[str]
    sky: NotRequired[str]


@node(requires=["city"], provides=["sky"], routes=[route.deliver("sky")])
def look(state: Any) -> dict[str, str]:
    return {"sky": f"{state['city']} {state.get('unit', 'C')}"}


weather: Workflow[str] = define_workflow(
    "weather",
    nodes=[look],
    state=Inner,
    result=str,
    description="Looks up.",
    waive={"AF212": "only now and then"},
)
END = [route.finish(dict)]


def test_a_plain_workflow_takes_fields_of_the_same_names_and_gives_its_result_by_its_name() -> None:
    made = parallel("fan", {"here": weather, "there": weather}, routes=END)
    assert made.requires == ("city",)
    assert (made.provides, made.may_provide) == (("here", "there"), ())
    assert isinstance(made.kind, Parallel)
    first, second = made.branches
    assert (first.name, dict(first.inputs), dict(first.outputs)) == (
        "here",
        {"city": "city", "unit": "unit"},
        {"here": "$result"},
    )
    assert (second.name, second.workflow) == ("there", weather)


def test_a_branch_with_mappings_of_its_own_requires_and_gives_what_they_say() -> None:
    one = subflow("one", weather, inputs={"city": "town"}, outputs={"sky_now": "sky"})
    made = parallel("fan", {"a": one, "b": weather}, requires=["also"], routes=END)
    # An optional input stays optional: its source is not required.
    assert made.requires == ("town", "city", "also")
    assert made.provides == ("sky_now", "b")


def test_collected_failures_are_given_always_and_results_at_times() -> None:
    made = parallel("fan", {"a": weather}, on_branch_error="collect", errors="bad", routes=END)
    assert (made.provides, made.may_provide) == (("bad",), ("a",))


def test_a_map_requires_its_items_and_gives_its_list_always() -> None:
    made = map_each("each", weather, over="towns", item="city", into="skies", routes=END)
    assert isinstance(made.kind, MapEach)
    assert (made.kind.concurrency, made.kind.max_items) == (10, None)
    assert (made.requires, made.provides) == (("towns",), ("skies",))
    assert made.branches[0].given == ("city",)
    assert made.description == "Looks up."
    collecting = map_each(
        "each", weather, over=list, item="city", into="skies", inputs={"unit": "scale"},
        on_branch_error="collect", errors="bad", routes=END,
    )  # fmt: skip
    assert (collecting.requires, collecting.provides) == ((), ("skies", "bad"))


def test_a_race_gives_always_what_every_branch_gives_and_at_times_what_only_some_do() -> None:
    a = subflow("a", weather, inputs={"city": "city"}, outputs={"both": "sky", "left": "sky"})
    b = subflow("b", weather, inputs={"city": "town"}, outputs={"both": "$result"})
    made = race("first", {"a": a, "b": b}, winner="who", routes=END)
    assert isinstance(made.kind, Race)
    assert (made.requires, made.provides, made.may_provide) == (
        ("city", "town"),
        ("both", "who"),
        ("left",),
    )
    plain = race("first", {"a": weather, "b": weather}, into="sky", routes=END)
    assert plain.provides == ("sky",)
    assert race("first", {"a": weather}, routes=END).provides == ()


@pytest.mark.parametrize("make", [parallel, race])
def test_the_node_knows_its_line(make: Any) -> None:
    made = make("fan", {"a": weather})  # at: fan
    assert (made.place.file, made.place.line) == (__file__, at("fan"))


def test_a_map_knows_its_line() -> None:
    made = map_each("e", weather, over="xs", item="city", into="ys")  # at: map
    assert made.place is not None
    assert made.place.line == at("map")


def slips_of(made: Node) -> list[str]:
    assert "AF103" in codes(validate(made))
    return list(made.slips)


@pytest.mark.parametrize(
    ("branches", "slip"),
    [
        ({}, "branches={}: it takes a mapping of name to workflow, not empty"),
        ([weather], "it takes a mapping of name to workflow, not empty"),
        ({"no good": weather}, "the branch name 'no good' is none: letters, digits"),
        ({5: weather}, "the branch name 5 is none"),
        ({"a": "weather"}, "workflow='weather' is no workflow; make it with define_workflow"),
        ({"a": look}, "branch 'a' is <Node 'look'>; give a workflow, or subflow(…)"),
        (
            {"a": subflow("a", weather, routes=END, retry=Retry(2), starts_round=True)},
            "branch 'a' takes a workflow and its mappings; give routes=, starts_round=, retry= to the node around it",
        ),
        ({"a": subflow("a", weather, outputs=5)}, "branch 'a': outputs=5 is no mapping"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("make", [parallel, race])
def test_branches_that_cannot_be_read_are_noted(make: Any, branches: Any, slip: str) -> None:
    assert any(slip in one for one in slips_of(make("fan", branches, routes=END)))


@pytest.mark.parametrize(
    ("options", "slip"),
    [
        ({"on_branch_error": "ignore"}, "on_branch_error='ignore': it takes 'cancel' or 'collect'"),
        ({"on_branch_error": "collect"}, "on_branch_error='collect' wants errors='…'"),
        ({"errors": "bad"}, "errors= wants on_branch_error='collect'"),
        ({"concurency": 3}, "there is no option concurency="),
        ({"run": look}, "there is no option run="),
    ],
)
def test_options_of_a_parallel_that_cannot_be_read_are_noted(
    options: dict[str, Any], slip: str
) -> None:
    assert any(slip in one for one in slips_of(parallel("fan", {"a": weather}, **options)))


@pytest.mark.parametrize(
    ("options", "slip"),
    [
        ({"over": 5}, "over=5: it takes the name of a field, or a function of the state"),
        ({"concurrency": 0}, "concurrency=0: it takes a whole number of at least 1"),
        ({"concurrency": True}, "concurrency=True"),
        ({"concurrency": None}, "concurrency=None"),
        ({"max_items": -1}, "max_items=-1: it takes a whole number of at least 0"),
        ({"max_items": 2.0}, "max_items=2.0"),
        ({"inputs": {"city": "x"}}, "the input 'city' takes the item, and inputs maps it too"),
        ({"on_branch_error": "collect"}, "wants errors='…'"),
    ],
)
def test_options_of_a_map_that_cannot_be_read_are_noted(options: dict[str, Any], slip: str) -> None:
    settings: dict[str, Any] = {"over": "xs", "item": "city", "into": "ys", "routes": END}
    made = map_each("each", weather, **(settings | options))
    assert any(slip in one for one in slips_of(made))


def test_what_nothing_gives_cannot_be_provided() -> None:
    options: dict[str, Any] = {"on_branch_error": "collect", "errors": "bad", "routes": END}
    made = parallel("fan", {"a": weather}, provides=["a", "x"], may_provide=["y"], **options)
    assert slips_of(made) == [
        "provides names 'a', which is given only at times",
        "provides names 'x', which is given by no output",
        "may_provide names 'y', which is given by no output",
    ]
    repeated = subflow("s", weather, outputs={"a": "$result"}, provides=["a"], may_provide=["a"])
    assert repeated.slips == ()


# --- the manifest and the fingerprint --------------------------------------------------------------


def holding(*nodes: Node) -> Workflow[Any]:
    return assemble("w", nodes, place=None, inputs=["city", "towns"])


def fan(**changes: Any) -> Workflow[Any]:
    held = changes.pop("held", {"a": weather, "b": weather})
    return holding(parallel("fan", held, **({"routes": END} | changes)))


def each(**changes: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"over": "towns", "item": "city", "into": "skies", "routes": END}
    return holding(map_each("each", weather, **(settings | changes)))


def first(**changes: Any) -> Workflow[Any]:
    held = changes.pop("held", {"a": weather, "b": weather})
    return holding(race("fan", held, **({"routes": END} | changes)))


def test_the_manifest_tells_the_branches_in_their_order_and_how_they_are_held() -> None:
    collect: dict[str, Any] = {"on_branch_error": "collect", "errors": "bad"}
    (node,) = fan(**collect).manifest()["nodes"]
    assert {key: node["kind"][key] for key in ("kind", "on_branch_error", "errors")} == {
        "kind": "parallel",
        **collect,
    }
    assert [branch["name"] for branch in node["kind"]["branches"]] == ["a", "b"]
    assert node["kind"]["branches"][0]["workflow"] == weather.manifest()
    (node,) = each(over=list).manifest()["nodes"]
    assert (node["kind"]["over"], node["kind"]["branches"][0]["item"]) == ("builtins:list", "city")


changed = dataclasses.replace(weather, nodes=(dataclasses.replace(look, timeout=3.0),))
renamed = dataclasses.replace(
    weather, description="Another.", nodes=(dataclasses.replace(look, description="Another."),)
)
own = {"inputs": {"city": "city"}, "outputs": {"a": "sky"}}


def test_whatever_changes_how_branches_run_changes_the_fingerprint() -> None:
    flows = [
        fan(),
        fan(held={"a": weather, "b": changed}),
        fan(held={"b": weather, "a": weather}),
        fan(held={"a": weather}),
        fan(held={"a": weather, "c": weather}),
        fan(held={"a": subflow("s", weather, **own), "b": weather}),
        fan(on_branch_error="collect", errors="bad"),
        fan(on_branch_error="collect", errors="worse"),
        first(),
        first(into="sky"),
        first(winner="who"),
        first(held={"a": weather, "b": changed}),
        each(),
        each(over=list),
        each(over=sorted),
        each(concurrency=3),
        each(max_items=3),
        each(into="others"),
        each(inputs={"unit": "city"}),
        each(on_branch_error="collect", errors="bad"),
    ]
    assert len({flow.fingerprint for flow in flows}) == len(flows)


def test_labels_inside_of_branches_do_not_change_the_fingerprint() -> None:
    assert fan().fingerprint == fan(held={"a": renamed, "b": weather}).fingerprint


@given(order=st.permutations(["a", "b", "c"]))
def test_the_order_of_branches_is_told_apart_and_otherwise_nothing(order: list[str]) -> None:
    made = fan(held=dict.fromkeys(order, weather))
    again = fan(held=dict.fromkeys(order, weather))
    assert made.fingerprint == again.fingerprint
    same = order == ["a", "b", "c"]
    assert (made.fingerprint == fan(held=dict.fromkeys("abc", weather)).fingerprint) == same
