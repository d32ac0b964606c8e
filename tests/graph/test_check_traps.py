"""Traps: a run that can only end by failing is told at the nodes where the trap lies, and there alone."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import pytest

from agentflow import Finding, Node, Report, field, node, route, validate


class State(TypedDict):
    urgent: bool
    text: NotRequired[str]


URGENT = field("urgent") == True  # noqa: E712


def step(id: str, *routes: Any, **options: Any) -> Node:
    async def body(state: Any) -> None: ...

    made: Node = node(body, id=id, routes=routes, **options)
    return made


def traps(report: Report) -> list[Finding]:
    return [finding for finding in report if finding.code == "AF306"]


def checked(*nodes: Node, **options: Any) -> Report:
    return validate(*nodes, state=State, inputs=["urgent"], max_rounds=9, **options)


END = route.finish(dict, reads=[])
WAIT = step("wait", route.to("page", URGENT), route.to("wait"), starts_round=True)
"""Never ends where nothing is urgent, for nothing becomes so."""
PAGE = step("page", END)


def test_a_node_that_always_leads_into_a_trap_is_not_told_beside_it() -> None:
    report = checked(
        step("triage", route.to("page", URGENT), route.to("log")),
        step("log", route.to("page", URGENT), route.to("wait")),
        WAIT,
        PAGE,
    )
    (trap,) = traps(report)
    assert trap.node == "wait"
    assert trap.message == "node 'wait': on no data can a run that visits it come to an end"


def test_nodes_that_lead_to_each_other_are_told_once_at_the_one_with_a_way_out() -> None:
    report = checked(
        step("triage", route.to("page", URGENT), route.to("look")),
        step("look", route.to("wait"), starts_round=True),
        step("wait", route.to("page", URGENT), route.to("look")),
        PAGE,
    )
    (trap,) = traps(report)
    assert trap.node == "wait"
    assert trap.message == (
        "the loop of 'look', 'wait': on no data can a run that visits it come to an end"
    )


@pytest.mark.parametrize(
    ("stops", "code"),
    [
        (step("reply", END, requires=["text"]), "AF201"),
        (step("reply", route.deliver("text")), "AF203"),
        (step("reply", route.finish(dict, reads=["text"])), "AF204"),
        (step("reply", route.finish(dict, when=field("text") == "a", reads=[])), "AF302"),
    ],
    ids=["AF201", "AF203", "AF204", "AF302"],
)
def test_a_node_before_one_that_always_stops_is_no_trap(stops: Node, code: str) -> None:
    report = checked(
        step("triage", route.to("wait"), starts_round=True),
        step("wait", route.to("triage", URGENT), route.to("reply")),
        stops,
    )
    assert code in [error.code for error in report.errors]
    assert traps(report) == []


def test_two_traps_are_told_each() -> None:
    report = checked(
        step("triage", route.to("page", URGENT), route.to("choose")),
        step("choose", route.to("nap", field("text").exists()), route.to("wait"), provides=[]),
        step("nap", route.to("page", URGENT), route.to("nap"), starts_round=True),
        WAIT,
        PAGE,
        optional_inputs=["text"],
    )
    assert [trap.node for trap in traps(report)] == ["nap", "wait"]
