"""Waivers: what is accepted stays in the report, and a waiver has a reason, a code that can be waived, and something to waive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from agentflow import DefinitionError, Node, Report, define_workflow, node, route, validate
from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding
from agentflow.graph.spec import report_of
from tests.graph.definitions import at, codes, told

END = [route.deliver("x")]


def ending(id: str = "end", **options: Any) -> Node:
    given: dict[str, Any] = {"provides": ["x"], "routes": END, **options}
    return node(lambda state: {"x": 1}, id=id, **given)


def unread(**options: Any) -> tuple[Node, Node]:
    """Two nodes with one warning: nobody reads what the first provides."""
    given: dict[str, Any] = {"provides": ["y"], "routes": [route.to("end")], **options}
    return node(lambda state: {"y": 1}, id="start", **given), ending()


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


# --- what is waived ----------------------------------------------------------------------------


def test_a_waived_finding_is_listed_with_its_reason_instead() -> None:
    start, end = unread()
    (finding,) = validate(start, end).findings
    assert (finding.code, finding.node) == ("AF210", "start")
    waive = {"AF210": "kept for later"}
    for report in (validate(start, end, waive=waive), validate(*unread(waive=waive))):
        assert report.findings == ()
        (waiver,) = report.waivers
        assert (waiver.finding.code, waiver.reason) == ("AF210", "kept for later")


def test_a_report_tells_of_waivers_as_text_and_as_json() -> None:
    start, end = unread(waive={"AF210": "kept for later"})
    report = validate(start, end, inputs=["z"], waive={"AF212": "an old caller"})
    assert report.as_text() == (
        "waived AF210 at node 'start': kept for later\n"
        "waived AF212 at workflow 'workflow': an old caller"
    )
    assert [(each["finding"]["code"], each["reason"]) for each in report.as_json()["waivers"]] == [
        ("AF210", "kept for later"),
        ("AF212", "an old caller"),
    ]


def test_the_waiver_of_a_node_comes_before_that_of_the_workflow() -> None:
    start, end = unread(waive={"AF210": "here"})
    report = validate(start, end, waive={"AF210": "everywhere"})
    assert [waiver.reason for waiver in report.waivers] == ["here"]
    assert only(report).message == (
        "workflow 'workflow' waives AF210 (provided and never read), which is not found there"
    )


def test_a_waiver_of_one_node_does_not_reach_another() -> None:
    start, _ = unread()
    report = validate(start, ending(waive={"AF210": "elsewhere"}))
    assert (codes(report), report.waivers) == (["AF210", "AF701"], ())


# --- waivers that mean nothing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("waive", "problem", "hint"),
    [
        (
            {"AF211x": "x"},
            "waives 'AF211x', which is no code of a finding",
            "did you mean 'AF211'?",
        ),
        ({"": "x"}, "waives '', which is no code of a finding", "take it out of waive="),
        (
            {"AF106": "x"},
            "waives AF106 (unknown route target), which cannot be waived",
            "mend what it says",
        ),
        ({"AF210": ""}, "waives AF210 without a reason", "say why: waive={'AF210': '…'}"),
        ({"AF210": "  "}, "waives AF210 without a reason", "say why: waive={'AF210': '…'}"),
        ({"AF210": None}, "waives AF210 without a reason", "say why: waive={'AF210': '…'}"),
    ],
)
def test_a_waiver_that_means_nothing_is_refused(
    waive: Mapping[str, Any], problem: str, hint: str
) -> None:
    at_node = only(validate(ending(waive=waive)))
    assert (at_node.code, at_node.node) == ("AF702", "end")
    assert (at_node.message, at_node.hint) == (f"node 'end' {problem}", hint)
    at_workflow = only(validate(ending(), waive=waive))
    assert (at_workflow.code, at_workflow.node) == ("AF702", None)
    assert at_workflow.message == f"workflow 'workflow' {problem}"
    with pytest.raises(DefinitionError):
        define_workflow("w", nodes=[ending(waive=waive)])


def test_a_waiver_without_a_reason_waives_nothing() -> None:
    assert codes(validate(*unread(waive={"AF210": " "}))) == ["AF702", "AF210"]


def test_a_meaningless_waiver_hides_nothing_of_the_proofs() -> None:
    assert codes(validate(*unread(waive={"AF999": "x"}))) == ["AF702", "AF210"]


# --- waivers of nothing ------------------------------------------------------------------------


def test_an_unused_waiver_is_found_where_it_stands() -> None:
    given: dict[str, Any] = {"id": "end", "provides": ["x"], "routes": END}
    given["waive"] = {"AF210": "was kept for later"}
    mended = node(lambda state: {"x": 1}, **given)  # at: node
    assert told(validate(mended)) == (
        f"here:{at('node')}: warning AF701: node 'end' waives AF210 (provided and never read), "
        f"which is not found there\n"
        f"    hint: take AF210 out of waive="
    )
    report = validate(ending(), waive={"AF304": "no function decides"})  # at: workflow
    finding = only(report)
    assert (finding.code, finding.node) == ("AF701", None)
    assert finding.place is not None
    assert finding.place.line == at("workflow")


def test_one_waiver_serves_all_findings_of_its_code() -> None:
    start, end = unread()
    other = node(lambda state: {"z": 1}, id="other", provides=["z"], routes=[route.to("start")])
    report = validate(other, start, end, waive={"AF210": "kept for later"})
    assert (codes(report), len(report.waivers)) == ([], 2)


def test_while_the_structure_is_broken_no_waiver_is_called_unused() -> None:
    start, end = unread(routes=[route.to("ghost")], waive={"AF304": "sure"})
    assert "AF701" not in codes(validate(start, end))


# --- what can be waived ------------------------------------------------------------------------


@pytest.mark.parametrize("code", [code for code, entry in CODES.items() if not entry.waivable])
def test_what_could_not_be_run_cannot_be_waived(code: str) -> None:
    # AF508 is about no workflow at all, so there is none whose author could accept it.
    assert code[:3] in {"AF0", "AF1", "AF7"} or code == "AF508"


def test_an_error_stays_one_when_it_cannot_be_waived() -> None:
    report = validate(ending(routes=[route.to("ghost")]), waive={"AF106": "the ghost will come"})
    assert codes(report) == ["AF106", "AF702"]
    assert not report.ok


class Switch(TypedDict):
    status: Literal["on", "off"]
    answer: NotRequired[str]


def switch(*more: Node, **options: Any) -> tuple[Node, ...]:
    """A node that forgets one value of two, and whatever else."""
    given: dict[str, Any] = {
        "routes": [route.to_if_equal("reply", "status", "on")],
        **options,
    }
    begin = node(lambda state: None, id="begin", **given)
    reply = node(
        lambda state: {"answer": "x"},
        id="reply",
        provides=["answer"],
        routes=[route.deliver("answer")],
    )
    return begin, reply, *more


def test_a_waived_structural_error_does_not_stop_the_proofs() -> None:
    island = ending("island", provides=["answer"], routes=[route.deliver("answer")])
    report = validate(*switch(island), state=Switch)
    assert codes(report) == ["AF109"]
    report = validate(*switch(island), state=Switch, waive={"AF109": "called by hand"})
    assert codes(report) == ["AF302"]
    assert [waiver.finding.code for waiver in report.waivers] == ["AF109"]


@pytest.mark.parametrize(
    ("code", "nodes", "options"),
    [
        ("AF109", (ending("a"), ending("b")), {}),
        (
            "AF110",
            (
                ending(
                    "a",
                    routes=[
                        route.to("b"),
                    ],
                ),
                ending("b", provides=[], routes=[]),
            ),
            {},
        ),
        (
            "AF111",
            (
                ending("a", routes=[route.to("b", lambda state: True), route.deliver("x")]),
                ending("b", starts_round=True, routes=[route.to("b")]),
            ),
            {"max_rounds": 3},
        ),
        ("AF112", (ending("a", starts_round=True, routes=[route.to("a")]),), {"max_rounds": 3}),
        ("AF115", (ending("a", routes=[route.deliver("x"), route.deliver("x")]),), {}),
    ],
)
def test_of_structure_what_can_be_run_can_be_waived_and_is_proved_all_the_same(
    code: str, nodes: tuple[Node, ...], options: dict[str, Any]
) -> None:
    assert code in codes(validate(*nodes, **options))
    every = {finding.code: "seen" for finding in validate(*nodes, **options).errors}
    report = validate(*nodes, **options, waive=every)
    assert report.ok, report.as_text()
    assert code in {waiver.finding.code for waiver in report.waivers}
    assert define_workflow("w", nodes=nodes, **options, waive=every).plan.entry.id == "a"


def test_what_is_not_known_without_imports_is_no_unused_waiver() -> None:
    spec = {
        "id": "w",
        "state": "nowhere:State",
        "waive": {"AF201": "the caller gives it"},
        "nodes": [{"id": "a", "run": "nowhere:a", "routes": [{"deliver": "x"}], "provides": ["x"]}],
    }
    report = report_of(spec, no_import=True)
    assert report.findings == ()
    assert [waiver.finding.code for waiver in report.waivers] == ["AF701"]
