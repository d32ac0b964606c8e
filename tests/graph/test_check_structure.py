"""The shape of a graph: targets, reachability, ends, order of routes; each flaw, its place and its mended form."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Node, define_workflow, field, node, route, validate
from tests.graph.definitions import at, codes, told


def made(id: str, *routes: Any, **options: Any) -> Node:
    """A node that provides nothing and requires nothing."""
    return node(lambda state: None, id=id, routes=routes, **options)


def ending(id: str) -> Node:
    return node(lambda state: {"x": 1}, id=id, provides=["x"], routes=[route.deliver("x")])


END = ending("end")


# --- unknown ids -------------------------------------------------------------------------------


@pytest.mark.rule("R232")
@pytest.mark.case("P019")
def test_an_unknown_route_target_is_refused_at_the_line_of_the_route() -> None:
    start = made(
        "start",
        route.to("end", field("a") == 1),
        route.to("ghost"),  # at: ghost
    )
    assert told(validate(start, END)) == (
        f"here:{at('ghost')}: error AF106: node 'start' routes to 'ghost', which is no node\n"
        f"    hint: the nodes are 'start', 'end'"
    )
    assert validate(made("start", route.to("end", field("a") == 1), route.to("end")), END,
                    inputs=["a"]).findings == ()  # fmt: skip


@pytest.mark.rule("R232")
def test_a_misspelled_target_is_one_finding_and_what_was_meant_is_the_hint() -> None:
    start = made("start", route.to("middel"))
    report = validate(start, made("middle", route.to("end")), END)
    assert codes(report) == ["AF106"]
    assert report.findings[0].hint == "did you mean 'middle'?"


def test_what_stays_unreached_beside_a_misspelled_target_is_reported_too() -> None:
    report = validate(
        made("start", route.to("middel")),
        made("middle", route.to("endd")),
        END,
        made("island", route.to("end")),
    )
    assert [(each.code, each.node) for each in report] == [
        ("AF106", "start"),
        ("AF106", "middle"),
        ("AF109", "island"),
    ]


@pytest.mark.parametrize("target", [END, None, 5, ["end"]])
def test_a_target_that_is_no_text_is_told_to_be_an_id(target: Any) -> None:
    report = validate(made("start", route.to(target), route.to("end", field("a") == 1)), END)
    assert "AF106" in codes(report)
    finding = next(each for each in report if each.code == "AF106")
    assert finding.hint == "name a node by its id, which is a text"
    if isinstance(target, Node):
        assert finding.message == "node 'start' routes to \"<Node 'end'>\", which is no node"


def test_many_nodes_are_not_all_listed() -> None:
    many = [made(f"node_{number}", route.to("end")) for number in range(20)]
    report = validate(made("start", route.to("zzz")), END, *many)
    assert report.findings[0].hint == (
        "the nodes are 'start', 'end', 'node_0', 'node_1', 'node_2', 'node_3', 'node_4', "
        "'node_5' and 14 more"
    )


def test_an_unknown_entry_is_refused_and_says_nothing_of_reachability() -> None:
    report = validate(  # at: entry
        made("start", route.to("end")),
        END,
        entry="begin",
    )
    assert told(report) == (
        f"here:{at('entry')}: error AF105: workflow 'workflow': the entry 'begin' is no node\n"
        f"    hint: the nodes are 'start', 'end'"
    )


@pytest.mark.rule("R236")
@pytest.mark.parametrize(
    ("options", "node_options", "code", "message"),
    [
        (
            {"on_error": "ghost"},
            {},
            "AF107",
            "workflow 'workflow': on_error='ghost' is no node",
        ),
        (
            {"on_limit": "ghost"},
            {},
            "AF108",
            "workflow 'workflow': on_limit='ghost' is no node",
        ),
        ({}, {"on_error": "ghost"}, "AF107", "node 'start' has on_error='ghost', which is no node"),
    ],
)
def test_an_unknown_node_for_errors_or_limits_is_refused(
    options: dict[str, Any], node_options: dict[str, Any], code: str, message: str
) -> None:
    start = made("start", route.to("end"), **node_options)
    (finding,) = validate(start, END, **options).findings
    assert (finding.code, finding.message) == (code, message)
    assert finding.hint == "the nodes are 'start', 'end'"
    assert finding.place is not None
    assert finding.place.file == __file__


# --- reachability ------------------------------------------------------------------------------


@pytest.mark.rule("R233")
@pytest.mark.case("P001")
def test_a_node_that_no_route_leads_to_is_refused() -> None:
    island = node(  # at: island
        lambda state: None, id="island", routes=[route.to("end")]
    )
    assert told(validate(made("start", route.to("end")), island, END)) == (
        f"here:{at('island')}: error AF109: no run can reach node 'island' from the entry 'start'\n"
        f"    hint: route to 'island' from a node that is reached, or take it out"
    )


@pytest.mark.rule("R233")
def test_islands_that_lead_to_each_other_are_still_islands() -> None:
    report = validate(
        made("start", route.to("end")),
        END,
        made("a", route.to("b")),
        made("b", route.to("a", field("x") == 1), route.to("end"), starts_round=True),
        max_rounds=2,
    )
    assert [(each.code, each.node) for each in report] == [("AF109", "a"), ("AF109", "b")]


@pytest.mark.rule("R236")
@pytest.mark.parametrize(
    ("options", "node_options"),
    [({"on_error": "rescue"}, {}), ({}, {"on_error": "rescue"})],
)
def test_a_node_reached_only_by_failure_is_reached(
    options: dict[str, Any], node_options: dict[str, Any]
) -> None:
    rescue = ending("rescue")
    report = validate(made("start", route.to("end"), **node_options), END, rescue, **options)
    assert report.findings == ()


def test_a_node_reached_only_when_rounds_run_out_is_reached() -> None:
    report = validate(
        node(
            lambda state: {"n": 1},
            id="again",
            provides=["n"],
            starts_round=True,
            routes=[route.deliver("n", field("n") == 3), route.to("again")],
        ),
        ending("give-up"),
        max_rounds=3,
        on_limit="give-up",
    )
    assert report.findings == ()


def test_a_node_for_limits_that_can_never_be_exceeded_is_unreachable() -> None:
    report = validate(made("start", route.to("end")), END, ending("give-up"), on_limit="give-up")
    assert [(each.code, each.node) for each in report] == [("AF109", "give-up")]


# --- ends --------------------------------------------------------------------------------------


@pytest.mark.rule("R235")
@pytest.mark.case("P002")
def test_a_node_without_a_way_out_is_a_dead_end() -> None:
    dead = node(lambda state: None, id="dead")  # at: dead
    start = made("start", route.to("dead", field("a") == 1), route.to("end"))
    assert told(validate(start, dead, END)) == (
        f"here:{at('dead')}: error AF110: node 'dead' has no route: a run that visits it can neither "
        f"go on nor end\n"
        f"    hint: add a route, such as route.deliver('…') to end the run with a field"
    )


@pytest.mark.rule("R235")
@pytest.mark.case("P002")
def test_a_single_node_without_routes_is_a_dead_end_and_nothing_more() -> None:
    assert codes(validate(made("start"))) == ["AF110"]


def test_routes_that_could_not_be_read_make_no_dead_end() -> None:
    assert codes(validate(node(lambda state: None, id="start", routes=["end"]), END))[0] == "AF103"  # type: ignore[list-item]
    assert "AF110" not in codes(validate(node(lambda state: None, id="start", routes="x")))  # type: ignore[arg-type]


@pytest.mark.rule("R235")
def test_a_workflow_that_cannot_end_is_refused_with_its_loop() -> None:
    report = validate(  # at: endless
        made("a", route.to("b"), starts_round=True),
        made("b", route.to("a")),
        max_rounds=5,
    )
    first, second = report.findings
    assert (first.code, first.message, first.hint) == (
        "AF112",
        "workflow 'workflow' has no way to end: no node that is reached delivers or finishes",
        "give a node route.deliver('…') or route.finish(…)",
    )
    assert first.place is not None
    assert first.place.line == at("endless")
    assert (second.code, second.message, second.path, second.node) == (
        "AF111",
        "the loop of 'a', 'b' has no way out to an end",
        ("a", "b", "a"),
        "a",
    )


def test_an_end_that_is_never_reached_is_no_end() -> None:
    report = validate(made("a", route.to("a"), starts_round=True), ending("island"), max_rounds=2)
    assert codes(report) == ["AF109", "AF112", "AF111"]


def test_a_loop_without_exit_is_refused_beside_a_path_that_ends() -> None:
    report = validate(
        made("start", route.to("end", field("a") == 1), route.to("x")),
        END,
        made("x", route.to("y"), starts_round=True),
        made("y", route.to("z")),
        made("z", route.to("x", field("a") == 2), route.to("y")),
        max_rounds=2,
    )
    loop = next(each for each in report if each.code == "AF111")
    assert loop.message == "the loop of 'x', 'y', 'z' has no way out to an end"
    assert loop.hint == "give one of its nodes a route that leaves the loop and comes to an end"
    assert loop.path[0] == loop.path[-1]
    assert "AF112" not in codes(report)


def test_a_loop_that_only_leads_to_a_dead_end_is_reported_as_the_dead_end() -> None:
    report = validate(
        made("a", route.to("dead", field("x") == 1), route.to("a"), starts_round=True),
        made("dead"),
        max_rounds=2,
    )
    assert codes(report) == ["AF110"]


def test_a_loop_that_only_leads_to_an_unknown_node_is_reported_as_that() -> None:
    report = validate(
        made("a", route.to("ghost", field("x") == 1), route.to("a"), starts_round=True),
        max_rounds=2,
    )
    assert codes(report) == ["AF106"]


def test_the_way_out_of_a_loop_may_be_an_end_or_the_limit() -> None:
    out = validate(
        node(
            lambda state: {"n": 1},
            id="a",
            provides=["n"],
            starts_round=True,
            routes=[route.to("end", field("n") == 2), route.to("a")],
        ),
        END,
        max_rounds=2,
    )
    assert out.findings == ()
    limit = validate(made("a", route.to("a"), starts_round=True), END, max_rounds=2, on_limit="end")
    assert "AF111" not in codes(limit)


# --- order of routes ---------------------------------------------------------------------------


@pytest.mark.rule("R265")
def test_a_route_after_an_unconditional_one_is_refused_and_both_are_named() -> None:
    start = made(
        "start",
        route.to("end", field("a") == 1),
        route.to("end"),
        route.deliver("a", field("a") == 2),  # at: second
        route.to("end"),  # at: third
    )
    assert told(validate(start, END)) == (
        f"here:{at('second')}: error AF115: node 'start': the route deliver 'a' when a == 2 comes "
        f"after to 'end', which always matches\n"
        f"    hint: put the unconditional route last, or give it a condition\n"
        f"here:{at('third')}: error AF115: node 'start': the route to 'end' comes after to 'end', "
        f"which always matches\n"
        f"    hint: put the unconditional route last, or give it a condition"
    )


def test_conditions_that_cannot_be_compared_do_not_disturb_the_order_of_routes() -> None:
    class Vague:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison today")

        __hash__ = None  # type: ignore[assignment]

    start = made("start", route.to("end", field("a") == Vague()), route.to("end"), route.to("end"))
    assert codes(validate(start, END)) == ["AF115"]


# --- everything at once ------------------------------------------------------------------------


@pytest.mark.rule("R229")
def test_all_findings_come_at_once_and_in_a_fixed_order() -> None:
    def definition() -> Any:
        return validate(
            made("start", route.to("ghost"), route.to("end")),
            made("start", route.to("end")),
            made("island", route.to("end")),
            made("dead one"),
            END,
            on_error="nobody",
            max_rounds=0,
            result=5,
        )

    expected = ["AF102", "AF101", "AF118", "AF121", "AF107", "AF106", "AF109", "AF109", "AF110"]
    assert codes(definition()) == [*expected, "AF115"]
    assert codes(definition()) == codes(definition())


@pytest.mark.case("T001", "T003")
@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"a": 1, "b": 1}, ["start", "left", "inner", "meet", "end"]),
        ({"a": 1, "b": 2}, ["start", "left", "meet", "end"]),
        ({"a": 2, "b": 1}, ["start", "right", "meet", "end"]),
    ],
)
def test_choices_within_choices_that_meet_again_raise_no_alarm_and_skip_nothing(
    given: dict[str, int], path: list[str]
) -> None:
    visited: list[str] = []

    def step(id: str, *routes: Any, **update: int) -> Node:
        async def run(state: Any) -> dict[str, int]:
            visited.append(id)
            return update

        return node(run, id=id, provides=list(update), routes=routes)

    workflow = define_workflow(
        "w",
        nodes=[
            step("start", route.to("left", field("a") == 1), route.to("right")),
            step("left", route.to("inner", field("b") == 1), route.to("meet")),
            step("inner", route.to("meet")),
            step("right", route.to("meet")),
            step("meet", route.to("end")),
            step("end", route.deliver("x"), x=1),
        ],
        inputs=["a", "b"],
    )
    assert workflow.report.findings == ()
    assert workflow.run_sync(given) == 1
    assert visited == path
