"""Cycles: each passes a boundary that counts, and the workflow says how often it may turn."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import Node, define_workflow, field, node, route, validate
from agentflow.graph.findings import Report
from tests.graph.definitions import at, codes, told


def step(id: str, *targets: str, starts_round: bool = False, ends: bool = False) -> Node:
    """A node that goes to each of its targets for one value of the input `n`."""
    last = [route.deliver("n")] if ends else []
    routes = [route.to(target, field("n") == number) for number, target in enumerate(targets)]
    if not ends and routes:
        routes[-1] = route.to(targets[-1])
    return node(lambda state: None, id=id, routes=[*routes, *last], starts_round=starts_round)


def report_of(*nodes: Node, **options: Any) -> Report:
    return validate(*nodes, **{"inputs": ["n"], **options})


def boundaries(*nodes: Node, **options: Any) -> list[tuple[str, ...]]:
    """The cycles that are reported to have no boundary."""
    report = report_of(*nodes, max_rounds=9, **options)
    return [each.path for each in report if each.code == "AF113"]


@pytest.mark.rule("R234")
def test_a_cycle_without_a_boundary_is_refused_and_printed() -> None:
    first = node(lambda state: None, id="a", routes=[route.to("b")])  # at: a
    assert told(report_of(first, step("b", "a", ends=True), max_rounds=3)) == (
        f"here:{at('a')}: error AF113: nothing counts the turns of the cycle a -> b -> a\n"
        f"    path: a -> b -> a\n"
        f"    hint: put starts_round=True on the node where a new round begins, perhaps 'a'"
    )


@pytest.mark.rule("R234")
@pytest.mark.parametrize("where", ["a", "b", "c"])
def test_a_boundary_anywhere_on_the_cycle_is_enough(where: str) -> None:
    nodes = [
        step("a", "b", starts_round=where == "a"),
        step("b", "c", starts_round=where == "b"),
        step("c", "a", ends=True, starts_round=where == "c"),
    ]
    assert report_of(*nodes, max_rounds=3).findings == ()


@pytest.mark.rule("R234")
def test_a_node_that_goes_to_itself_is_a_cycle() -> None:
    assert boundaries(step("a", "a", ends=True)) == [("a", "a")]
    assert boundaries(step("a", "a", ends=True, starts_round=True)) == []


def test_each_cycle_that_misses_the_boundary_is_reported() -> None:
    # The outer cycle passes `a`; the inner one of `b` and `c` does not.
    nodes = [
        step("a", "b", starts_round=True),
        step("b", "c"),
        step("c", "b", "a", ends=True),
    ]
    assert boundaries(*nodes) == [("b", "c", "b")]


def test_the_shortest_cycle_is_printed() -> None:
    nodes = [
        step("a", "b"),
        step("b", "c", "d"),
        step("c", "d"),
        step("d", "a", ends=True),
    ]
    assert boundaries(*nodes) == [("a", "b", "d", "a")]


def test_two_separate_cycles_are_two_findings() -> None:
    nodes = [
        step("a", "b", "c"),
        step("b", "b", ends=True),
        step("c", "c", ends=True),
    ]
    assert boundaries(*nodes) == [("b", "b"), ("c", "c")]


def test_a_cycle_through_an_error_node_needs_no_boundary() -> None:
    # An error node is entered at most once between two round openings.
    rescue = node(lambda state: None, id="rescue", routes=[route.to("a")])
    report = report_of(step("a", ends=True), rescue, on_error="rescue")
    assert report.findings == ()


def test_a_loop_has_to_state_max_rounds() -> None:
    nodes = [step("a", "b", starts_round=True), step("b", "a", ends=True)]
    report = validate(*nodes, inputs=["n"])  # at: unstated
    assert told(report) == (
        f"here:{at('unstated')}: error AF114: workflow 'workflow' has a loop ('a', 'b') but does not "
        f"state max_rounds\n"
        f"    hint: add max_rounds=…: how many rounds a run may take at most, the first included"
    )
    assert report_of(*nodes, max_rounds=2).findings == ()


@pytest.mark.rule("R274")
def test_a_line_of_nodes_needs_to_state_nothing() -> None:
    nodes = [*(step(f"n{i}", f"n{i + 1}") for i in range(5)), step("n5", ends=True)]
    assert report_of(*nodes).findings == ()
    workflow = define_workflow("line", nodes=nodes, inputs=["n"], max_rounds=1)
    assert workflow.run_sync({"n": 7}) == 7


@pytest.mark.rule("R356")
def test_a_boundary_that_is_never_come_back_to_needs_no_max_rounds() -> None:
    nodes = [step("a", "b"), step("b", ends=True, starts_round=True)]
    assert report_of(*nodes).findings == ()
    assert define_workflow("line", nodes=nodes, inputs=["n"], max_rounds=1).run_sync({"n": 7}) == 7


# --- against brute force -----------------------------------------------------------------------

NAMES = "abcde"
GRAPHS = st.tuples(
    st.fixed_dictionaries({name: st.sets(st.sampled_from(NAMES)) for name in NAMES}),
    st.sets(st.sampled_from(NAMES)),
)


def cycles_without_boundary(edges: dict[str, set[str]], boundary: set[str]) -> set[str]:
    """The nodes on cycles that can be walked without entering a boundary, by walking them all."""

    def comes_back(start: str) -> bool:
        seen: set[str] = set()
        waiting = [target for target in edges[start] if target not in boundary]
        while waiting:
            name = waiting.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                waiting.extend(target for target in edges[name] if target not in boundary)
        return False

    return {name for name in edges if comes_back(name)}


@given(GRAPHS)
def test_a_boundary_is_missed_exactly_where_walking_finds_it_missing(
    graph: tuple[dict[str, set[str]], set[str]],
) -> None:
    edges, boundary = graph
    nodes = [
        step(name, *sorted(edges[name]), ends=True, starts_round=name in boundary) for name in NAMES
    ]
    found = boundaries(*nodes)
    expected = cycles_without_boundary(edges, boundary)
    assert bool(found) == bool(expected)
    for path in found:
        assert set(path) <= expected
        assert path[0] == path[-1]
        assert len(set(path[1:])) == len(path) - 1
        assert all(
            after in edges[before] and after not in boundary
            for before, after in itertools.pairwise(path)
        )
    looping = any(name in reach(edges, edges[name]) for name in NAMES)
    assert ("AF114" in codes(report_of(*nodes))) is looping


def reach(edges: dict[str, set[str]], start: set[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(edges[name])
    return seen


@given(GRAPHS)
def test_reachability_is_what_walking_finds(graph: tuple[dict[str, set[str]], set[str]]) -> None:
    edges, _ = graph
    report = validate(
        *(step(name, *sorted(edges[name]), ends=True) for name in NAMES), max_rounds=2
    )
    unreached = {each.node for each in report if each.code == "AF109"}
    assert unreached == set(NAMES) - {"a"} - reach(edges, {"a"})
