"""Branches in reports: how violations and worst cases are told where several workflows go on at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    Node,
    Policy,
    Uses,
    Workflow,
    at_most,
    map_each,
    must_pass,
    never_after,
    node,
    parallel,
    race,
    route,
    subflow,
    validate,
)
from agentflow.graph.workflow import assemble
from tests.graph.definitions import codes, told

END = [route.finish(dict, reads=[])]


async def work(state: Any) -> None:
    """Does nothing; no test here runs it."""


async def calls(state: Any, ctx: Any) -> None:
    """May call whatever it likes."""


def step(id: str, *routes: Any, **options: Any) -> Node:
    return node(work, id=id, routes=routes or END, **options)


def flow(*nodes: Node, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"inputs": [], "optional_inputs": ["x"]}
    return assemble("flow", nodes, place=None, **(settings | options))


paying = flow(step("check", route.to("pay")), step("pay"))


def fan(*policies: Policy) -> Any:
    made = parallel("fan", {"left": paying, "right": paying}, routes=END)
    return validate(made, inputs=[], policies=policies)


def test_what_goes_on_at_the_same_time_is_told_beside_the_path() -> None:
    report = fan(at_most("pay", 1))
    assert told(report).splitlines()[1:4] == [
        "    path: fan -> fan[left]/check -> fan[left]/pay",
        "      fan[left]: while fan[right] went on at the same time",
        "    hint: leave the loop after 'pay', or bound its rounds",
    ]


def test_items_beside_are_told_without_numbers() -> None:
    each = map_each("each", paying, over=list, item="x", into="ys", max_items=5, routes=END)
    report = validate(each, inputs=[], policies=[at_most("pay", 4)])
    assert "      each: while other items were worked on" in told(report).splitlines()
    assert "AF503" not in codes(validate(each, inputs=[], policies=[at_most("pay", 5)]))


def test_a_branch_that_breaks_a_policy_alone_is_told_alone() -> None:
    (finding, *_) = fan(never_after("fan[right]/check", "fan[right]/pay")).errors
    assert finding.path == ("fan", "fan[right]/check", "fan[right]/pay")
    assert finding.details == ()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("pay", True),
        ("fan/pay", True),
        ("fan[left]/pay", True),
        ("fan[middle]/pay", False),
        ("left/pay", False),
    ],
)
def test_a_node_in_a_branch_is_named_with_or_without_the_branch(name: str, known: bool) -> None:
    found = codes(fan(at_most(name, 2)))
    assert ("AF506" in found) == (not known)
    assert "AF503" not in found


def test_what_one_branch_checks_is_no_check_for_another() -> None:
    assert "AF501" in codes(fan(must_pass("fan[left]/check", before="fan[right]/pay")))
    assert fan(must_pass("fan[left]/check", before="fan[left]/pay")).ok
    first = step("first", route.to("fan"))
    after = parallel("fan", {"left": paying, "right": paying}, routes=END)
    assert validate(first, after, inputs=[], policies=[must_pass("first", before="pay")]).ok


def test_policies_reach_any_depth() -> None:
    inner = flow(race("who", {"a": paying, "b": paying}, routes=END))
    middle = flow(map_each("all", inner, over=list, item="x", into="ys", max_items=2, routes=END))
    outer = parallel("fan", {"one": middle, "two": paying}, routes=END)
    policies = [at_most("fan[one]/all/who[b]/pay", 2), at_most("pay", 5)]
    assert "AF503" not in codes(validate(outer, inputs=[], policies=policies))
    (finding,) = validate(outer, inputs=[], policies=[at_most("pay", 4)]).errors
    assert (finding.path[-1], finding.details) == (
        "fan[two]/pay",
        ("fan[two]: while fan[one] went on at the same time",),
    )
    (finding,) = validate(outer, inputs=[], policies=[at_most("fan/all/who/pay", 3)]).errors
    assert (finding.path[-1], finding.details) == (
        "fan[one]/all/who[a]/pay",
        (
            "fan[one]/all: while other items were worked on",
            "fan[one]/all/who[a]: while who[b] went on at the same time",
        ),
    )


def test_a_million_items_and_visits_are_proved_like_a_few() -> None:
    many = 10**6
    each = map_each("each", paying, over=list, item="x", into="ys", max_items=many, routes=END)
    for count, holds in ((many, True), (many - 1, False)):
        found = codes(validate(each, inputs=[], policies=[at_most("each/pay", count)]))
        assert ("AF503" in found) == (not holds)


# --- worst cases ------------------------------------------------------------------------------


def bounds(*nodes: Node) -> Any:
    return flow(*nodes).bounds()


def test_a_worst_case_without_an_end_says_which_node_has_none() -> None:
    endless = map_each("each", paying, over=list, item="x", into="ys", routes=END)
    found = bounds(parallel("fan", {"a": flow(endless), "b": paying}, routes=END))
    assert str(found.visits) == (
        "unbounded, because of the sub-workflow in node 'fan': "
        "node 'each' works on any number of items; give it max_items="
    )
    # Nothing that it holds calls a model.
    assert (found.model_calls.value, found.tool_calls.value) == (0, 0)
    assert found.as_dict()["unbounded"].keys() == {"rounds", "visits"}


def test_each_count_has_its_own_reason() -> None:
    calling = flow(node(calls, id="ask", routes=END))
    found = bounds(map_each("each", calling, over=list, item="x", into="ys", routes=END))
    assert "works on any number of items" in found.visits.reason
    assert "is given ctx and does not declare uses=" in found.model_calls.reason


def test_no_item_costs_nothing() -> None:
    none = map_each("each", paying, over=list, item="x", into="ys", max_items=0, routes=END)
    assert (bounds(none).visits.value, bounds(none).rounds.value) == (1, 1)


def test_what_a_node_may_use_at_most_makes_its_worst_case_a_limit_only() -> None:
    calling = flow(node(calls, id="ask", uses=Uses(model_calls=3), routes=END))
    held = {"a": calling, "b": calling}
    assert bounds(parallel("fan", held, routes=END)).exact
    limited = bounds(parallel("fan", held, uses=Uses(model_calls=4), routes=END))
    assert (limited.model_calls.value, limited.exact) == (4, False)
    assert "(never too small, but perhaps larger than those of any run)" in limited.as_text()
    outer = bounds(
        subflow("s", flow(parallel("f", held, uses=Uses(model_calls=4), routes=END)), routes=END)
    )
    assert not outer.exact
