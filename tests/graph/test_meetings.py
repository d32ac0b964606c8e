"""Branches that meet again: a node is entered by the one route that was taken, so nothing joins, waits or runs twice."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Node, define_workflow, field, node, route, validate
from tests.run.watching import Recorder


def step(id: str, *routes: Any, **update: int) -> Node:
    """A node that provides what it is told to provide."""
    return node(lambda state: update, id=id, provides=list(update), routes=routes)


def choosing() -> list[Node]:
    """A choice of one of two branches, each of which leads to `meet`."""
    return [
        step("choose", route.to("left", field("way") == "left"), route.to("right")),
        step("left", route.to("meet"), a=1),
        step("right", route.to("meet"), b=2),
    ]


@pytest.mark.case("P004")
def test_a_node_that_needs_what_two_exclusive_branches_give_is_refused_with_a_path() -> None:
    meet = node(
        lambda state: None, id="meet", requires=["a", "b"], routes=[route.finish(lambda s: s["a"])]
    )
    report = validate(*choosing(), meet, inputs=["way"])
    assert [(each.message, each.path) for each in report if each.code == "AF201"] == [
        ("node 'meet' requires 'b', which is missing", ("choose", "left", "meet")),
        ("node 'meet' requires 'a', which is missing", ("choose", "right", "meet")),
    ]


@pytest.mark.case("P004")
@pytest.mark.parametrize("way", ["left", "right"])
async def test_a_node_after_two_branches_runs_when_one_of_them_was_taken(way: str) -> None:
    meet = step("meet", route.deliver("c"), c=3)
    workflow = define_workflow("w", nodes=[*choosing(), meet], inputs=["way"])
    seen = Recorder()
    assert await workflow.run({"way": way}, observers=[seen]) == 3
    assert seen.visited() == ["choose", way, "meet"]


@pytest.mark.case("P005")
@pytest.mark.parametrize(("way", "path"), [("short", ["a", "c"]), ("long", ["a", "b1", "b2", "c"])])
async def test_a_node_that_paths_of_unequal_length_lead_to_is_visited_once(
    way: str, path: list[str]
) -> None:
    workflow = define_workflow(
        "w",
        nodes=[
            step("a", route.to("c", field("way") == "short"), route.to("b1")),
            step("b1", route.to("b2")),
            step("b2", route.to("c")),
            step("c", route.deliver("x"), x=1),
        ],
        inputs=["way"],
    )
    assert workflow.report.findings == ()
    assert {id: bound for id, bound in workflow.bounds().node_visits.items() if bound != 1} == {}
    seen = Recorder()
    assert await workflow.run({"way": way}, observers=[seen]) == 1
    assert seen.visited() == path


@pytest.mark.case("P005", "P008")
def test_routes_that_are_meant_to_be_taken_both_are_refused() -> None:
    """Whoever takes routes for edges of a fan-out learns before the run that the second is never taken."""
    report = validate(
        step("a", route.to("b"), route.to("c")),
        step("b", route.to("meet"), x=1),
        step("c", route.to("meet"), x=2),
        step("meet", route.deliver("x")),
    )
    assert [(each.code, each.node) for each in report] == [("AF115", "a")]


@pytest.mark.case("P008")
@pytest.mark.parametrize("way", ["left", "right"])
async def test_two_nodes_of_exclusive_branches_may_provide_one_plain_field(way: str) -> None:
    workflow = define_workflow(
        "w",
        nodes=[
            step("choose", route.to("left", field("way") == "left"), route.to("right")),
            step("left", route.deliver("x"), x=1),
            step("right", route.deliver("x"), x=2),
        ],
        inputs=["way"],
    )
    assert workflow.report.findings == ()
    assert await workflow.run({"way": way}) == {"left": 1, "right": 2}[way]
