"""Counter-examples: graphs of which the checker once said something else than what runs do, each with what is true."""

from __future__ import annotations

import datetime
import decimal
import itertools
from dataclasses import dataclass, field as attribute
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from agentflow import (
    Budget,
    Node,
    Report,
    Retry,
    Route,
    at_most,
    never_after,
    node,
    only_if,
    route,
    subflow,
    validate,
)
from agentflow.graph.checks import bounds
from agentflow.graph.condition import Condition, field
from agentflow.graph.proof import longest
from agentflow.graph.proof.explore import Walk
from agentflow.graph.workflow import assemble
from tests.graph.definitions import codes
from tests.proofs.explorer import Explorer


class Service(TypedDict):
    status: Literal["on", "off"]
    load: NotRequired[int]


class State(TypedDict, total=False):
    maybe: Service | None
    service: Service
    number: int
    perhaps: int | None
    day: datetime.date
    price: decimal.Decimal
    text: str
    mixed: int | str
    flag: bool


async def work(state: Any) -> None:
    """Does nothing; no test here runs it."""


END = route.finish(dict, reads=[])
"""Ends a run, whatever there is."""


def step(id: str, *routes: Route, **options: Any) -> Node:
    return node(work, id=id, routes=routes or [END], **options)


def asked(*conditions: Condition, fallback: bool = False, state: Any = State) -> list[str]:
    """The codes of a workflow that is given every field that its conditions ask of, and routes on them in turn."""
    ids = "bcdefgh"
    ways = [route.to(id, when) for id, when in zip(ids, conditions, strict=False)]
    nodes = [step("a", *ways, *([END] if fallback else []))]
    nodes += [step(id) for id, _ in zip(ids, conditions, strict=False)]
    given = sorted({name for condition in conditions for name in condition.reads()})
    return codes(validate(*nodes, state=state, inputs=given))


def test_what_lies_below_a_field_is_there_only_where_the_field_is_no_none() -> None:
    status = field("maybe.status")
    assert asked(field("maybe").is_none(), status == "on", status == "off") == []
    assert asked(field("maybe").is_none(), status == "on") == ["AF302"]


def test_what_a_type_requires_below_a_field_is_there_whenever_the_field_is() -> None:
    assert asked(field("service.status").exists()) == []
    assert asked(field("service.load").exists()) == ["AF302"]


def test_what_is_asked_below_a_field_tells_whether_the_field_is_none() -> None:
    on, off = (field("maybe.status") == each for each in ("on", "off"))
    assert "AF303" in asked(on | off, field("maybe").is_none(), ~field("maybe").is_none())


def test_a_comparison_with_what_may_be_none_is_told_because_it_raises() -> None:
    assert asked(field("perhaps") < 10, fallback=True) == ["AF207"]
    assert asked(field("perhaps").is_none(), field("perhaps") < 10, fallback=True) == []
    assert asked(~field("perhaps").is_none() & (field("perhaps") < 10), fallback=True) == []
    assert asked(field("mixed") < 10, fallback=True) == ["AF207"]
    assert asked(field("number").contains(1), fallback=True) == ["AF207", "AF301", "AF305"]


def test_an_untyped_field_is_trusted_to_hold_what_is_compared() -> None:
    assert asked(field("number") < 10, field("number") >= 10, state=None) == []


@pytest.mark.parametrize(
    ("name", "bound"), [("day", datetime.date(2026, 1, 1)), ("price", decimal.Decimal("9.99"))]
)
def test_whatever_has_an_order_is_cut_by_it(name: str, bound: object) -> None:
    path: Any = field(name)
    assert asked(path < bound, path >= bound) == []
    assert asked(path < bound, path > bound) == ["AF302"]


def test_endless_bounds_are_bounds() -> None:
    assert asked(field("number") < float("inf")) == []
    assert "AF301" in asked(field("number") == float("inf"), fallback=True)


def test_a_bool_is_compared_with_a_number_as_the_number_that_it_equals() -> None:
    above = field("number") > 0
    assert "AF302" in asked(~above, above & (field("number") == True))  # noqa: E712


def test_a_text_that_contains_a_text_contains_its_parts() -> None:
    assert "AF303" in asked(
        field("text").contains("a"), field("text").contains("ab"), fallback=True
    )


def test_a_named_text_contains_what_it_contains() -> None:
    is_abc = field("text") == "abc"
    assert "AF303" in asked(is_abc & ~field("text").contains("b"), fallback=True)


def test_a_default_is_known_as_the_field_takes_it() -> None:
    @dataclass
    class Filled:
        number: int = "5"  # type: ignore[assignment]

    report = validate(
        step("a", route.to("b", field("number") == 5)),
        step("b"),
        state=Filled,
        inputs=[],
        optional_inputs=[],
    )
    assert codes(report) == []


def test_a_default_that_a_function_makes_may_be_anything() -> None:
    turns = itertools.count()

    @dataclass
    class Filled:
        number: int = attribute(default_factory=lambda: next(turns))

    report = validate(
        step("a", route.to("b", field("number") == 0)),
        step("b"),
        state=Filled,
        inputs=[],
        optional_inputs=[],
    )
    assert codes(report) == ["AF302"]


def test_a_run_that_comes_to_on_limit_after_a_failure_is_no_failing_run() -> None:
    report = validate(
        step("a", route.to("b"), starts_round=True),
        step("b", on_error="a"),
        step("last", on_error="rescue"),
        step("rescue", requires=["never"]),
        max_rounds=1,
        on_limit="last",
        inputs=[],
    )
    assert codes(report) == ["AF202"]


def test_a_route_whose_delivery_fails_is_taken_all_the_same() -> None:
    flag = field("flag") == True  # noqa: E712
    report = validate(step("a", route.deliver("text", flag), END), state=State, inputs=["flag"])
    assert codes(report) == ["AF203"]


def test_a_route_that_only_runs_out_of_rounds_is_taken_all_the_same() -> None:
    flag = field("flag") == True  # noqa: E712
    report = validate(
        step("a", route.to("a", flag), END, starts_round=True),
        step("last", route.to("a", flag), END, provides=["flag"]),
        state=State,
        inputs=["flag"],
        max_rounds=2,
        on_limit="last",
    )
    assert "AF303" not in codes(report)


def _rounds(limit: int) -> Report:
    return validate(
        step("a", route.to("b", field("flag") == True), route.to("c"), starts_round=True),  # noqa: E712
        step("b"),
        step("c", route.to("a"), provides=["flag"]),
        state=State,
        inputs=[],
        max_rounds=limit,
    )


def test_a_node_that_only_rounds_keep_away_is_said_to_be_kept_away_by_them() -> None:
    told = _rounds(1).as_text()
    assert "max_rounds=1 is out before" in told
    assert "exclude each other" not in told
    assert _rounds(2).ok


def _after_failures(*after: Route) -> Report:
    return validate(
        step("a", END, on_error="mend"),
        step("mend", *after, on_error="last"),
        step("last", route.to("later")),
        step("later"),
        state=State,
        inputs=["flag"],
    )


def test_what_only_the_failure_of_an_error_node_leads_to_is_said_to_be_kept_away_by_that() -> None:
    told = _after_failures(END).as_text()
    why = "only a failure of 'mend' leads on to it, and what fails in an error node goes to the caller"
    assert told.count(why) == 2
    assert "let a route of 'mend' lead there" in told
    assert "exclude each other" not in told


def test_what_a_condition_keeps_away_too_is_said_to_be_kept_away_by_conditions() -> None:
    on = field("flag") == True  # noqa: E712
    told = _after_failures(route.to("last", on & ~on), END).as_text()
    assert told.count("the conditions on the way exclude each other") == 2


def test_a_warning_does_not_hide_that_rounds_are_too_few() -> None:
    assert {"AF205", "AF402"} <= set(codes(_rounds(1)))


def test_fewer_rounds_than_any_end_needs_may_come_to_an_end_by_on_limit() -> None:
    workflow = assemble(
        "limited",
        [step("a", route.to("a"), starts_round=True), step("last")],
        place=None,
        max_rounds=10,
        on_limit="last",
    )
    assert [each.code for each in bounds.budget(workflow, Budget(rounds=1))] == ["AF404"]


def test_a_node_to_which_rounds_do_not_suffice_has_bounds_all_the_same() -> None:
    workflow = assemble(
        "short",
        [
            step("a", route.to("b", field("flag").exists()), route.to("c"), starts_round=True),
            step("b", route.to("a"), provides=["number"]),
            step("c", route.to("a"), provides=["flag"]),
        ],
        place=None,
        state=State,
        inputs=[],
        max_rounds=1,
    )
    assert workflow.bounds().node_visits == {"a": 1, "b": 0, "c": 1}


def _tried_twice(*policies: Any) -> Report:
    inner = assemble("inner", [step("send", route.to("log")), step("log")], place=None)
    return validate(subflow("mail", inner, routes=[END], retry=Retry(2)), policies=policies)


def test_a_sub_workflow_that_is_tried_again_is_gone_through_again() -> None:
    assert codes(_tried_twice(at_most("send", 2))) == []
    assert codes(_tried_twice(at_most("send", 1))) == ["AF503"]
    (finding,) = _tried_twice(never_after("log", "send")).findings
    assert (finding.code, finding.path) == ("AF502", ("mail", "mail", "mail/send"))


def test_a_policy_does_not_hold_where_its_condition_cannot_be_asked() -> None:
    report = validate(
        step("pay"),
        state=State,
        inputs=["perhaps"],
        policies=[only_if("pay", field("perhaps") <= 100)],
    )
    assert codes(report)[:1] == ["AF504"]
    report = validate(
        step("a", route.to("pay", ~field("perhaps").is_none() & (field("perhaps") <= 100)), END),
        step("pay"),
        state=State,
        inputs=["perhaps"],
        policies=[only_if("pay", field("perhaps") <= 100)],
    )
    assert codes(report) == []


def test_more_questions_than_can_be_told_apart_are_answered_both_ways() -> None:
    parts = [field("text").contains(str(each)) for each in range(12)]
    workflow = assemble(
        "curious",
        [step("a", *(route.to("b", each) for each in parts)), step("b", requires=["number"])],
        place=None,
        state=State,
        inputs=["text"],
    )
    assert {"AF302", "AF201"} <= set(codes(workflow.report))
    assert Walk(workflow).merged


def test_a_whole_mapping_is_compared_without_a_look_at_its_parts_and_never_too_kindly() -> None:
    whole: Condition = field("service") == {"status": "on"}
    nodes = [
        step("a", route.to("b", whole), route.to("c", field("service.status") == "on")),
        step("b"),
        step("c", requires=["number"]),
    ]
    workflow = assemble("whole", nodes, place=None, state=State, inputs=["service"])
    true = Explorer(workflow)
    assert true.problems("uncovered")
    assert {"AF302", "AF201"} <= set(codes(workflow.report))


@pytest.mark.parametrize("rounds", [4, 99_999])
def test_an_end_after_the_last_round_takes_the_visits_of_all_rounds(rounds: int) -> None:
    nodes = [step("a", route.to("a"), starts_round=True), step("b")]
    workflow = assemble("late", nodes, place=None, max_rounds=rounds, on_limit="b")
    few, enough = (
        [finding.message for finding in bounds.budget(workflow, Budget(visits=visits))]
        for visits in (rounds, rounds + 1)
    )
    assert few == [
        f"with visits={rounds} no run of 'late' can end: the shortest needs {rounds + 1}"
    ]
    assert enough == []


def test_what_only_a_round_too_many_could_open_makes_no_bound_inexact() -> None:
    # Present or not: 64 points, of which none opens a round that a run comes to.
    names = [f"field_{number}" for number in range(6)]
    ways = [route.to("a", field(name).exists()) for name in names]
    loop = step("a", *ways, END, starts_round=True, may_provide=names)
    bounded = assemble("wide", [loop], place=None, inputs=[], max_rounds=1).bounds()
    assert (bounded.exact, bounded.visits.value) == (True, 1)


def test_a_bound_is_no_more_exact_than_those_of_the_workflows_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = step("a", route.to("a", field("number").exists()), END, starts_round=True)
    child = assemble("child", [loop], place=None, optional_inputs=["number"], max_rounds=3)
    parent = assemble("parent", [subflow("inside", child, routes=[END])], place=None, inputs=[])
    with monkeypatch.context() as patch:
        patch.setattr(longest, "_MOST_OPENINGS", 0)
        assert not child.bounds().exact
    assert not parent.bounds().exact
