"""Declarations: ids, slips, limits, schemas and contracts; each flaw, its place and its mended form."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, model_validator

from agentflow import Budget, Node, Retry, Uses, define_workflow, field, node, route, validate
from agentflow.graph.findings import Finding, Report
from tests.graph.definitions import at, codes, told


def ending(id: Any = "end", **options: Any) -> Node:
    given: dict[str, Any] = {"provides": ["x"], "routes": [route.deliver("x")], **options}
    return node(lambda state: {"x": 1}, id=id, **given)


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


# --- ids ---------------------------------------------------------------------------------------


@pytest.mark.rule("R230")
@pytest.mark.parametrize(
    "id", ["", " ", "a b", "1a", "-a", ".a", "a/b", "ä", "a\n", "a:b", "$result", "<lambda>"]
)
def test_a_malformed_node_id_is_refused_and_named(id: str) -> None:
    finding = only(validate(ending(id)))
    assert (finding.code, finding.node) == ("AF101", id)
    assert finding.message == f"the node id {id!r} is malformed"


@pytest.mark.rule("R230")
@pytest.mark.parametrize("id", [5, True, None, ["a"], 1.5, object()])
def test_a_node_id_that_is_no_text_is_refused_and_named(id: Any) -> None:
    if id is None:
        assert codes(validate(node(5))) == ["AF101", "AF117", "AF110"]  # type: ignore[call-overload]
        return
    finding = only(validate(ending(id)))
    assert finding.code == "AF101"
    assert repr(id)[1:-1] in finding.message


@pytest.mark.rule("R230")
@pytest.mark.parametrize("id", ["a", "_", "A1", "look_up", "look-up", "a.b", "_1"])
def test_a_well_formed_id_is_accepted(id: str) -> None:
    assert validate(ending(id)).findings == ()
    assert define_workflow(id, nodes=[ending()]).id == id


@pytest.mark.rule("R230")
def test_the_finding_of_a_malformed_id_stands_at_the_node_with_the_rule() -> None:
    bad = node(  # at: id
        lambda state: {"x": 1}, id="a b", provides=["x"], routes=[route.deliver("x")]
    )
    assert told(validate(bad)) == (
        f"here:{at('id')}: error AF101: the node id 'a b' is malformed\n"
        f"    hint: use letters, digits and _ - . only, starting with a letter or _"
    )


def test_a_lambda_is_told_to_have_an_id() -> None:
    finding = only(validate(node(lambda state: None, routes=[route.finish(len)])))
    assert finding.hint == "a lambda has no name of its own: give the node an id"


@pytest.mark.parametrize("id", ["", "a b", 5, None])
def test_a_malformed_workflow_id_is_refused(id: Any) -> None:
    finding = only(validate(ending(), id=id))
    assert finding.code == "AF101"
    assert finding.message.startswith("the workflow's id '")
    assert finding.place is not None
    assert finding.place.file == __file__


@pytest.mark.rule("R231")
def test_two_nodes_of_one_id_are_refused_at_the_second_and_the_first_is_named() -> None:
    first = ending("end")
    second = node(  # at: second
        lambda state: {"x": 1}, id="end", provides=["x"], routes=[route.deliver("x")]
    )
    assert first.place is not None
    assert told(validate(first, second)) == (
        f"here:{at('second')}: error AF102: two nodes have the id 'end' "
        f"(the first is at here:{first.place.line})\n"
        f"    hint: give one of them another id"
    )
    assert codes(validate(first, first, first)) == ["AF102", "AF102"]


# --- slips -------------------------------------------------------------------------------------


def test_every_slip_of_a_node_is_a_finding_at_the_node() -> None:
    bad = node(  # at: slips
        lambda state: {"x": 1},
        id="end",
        provides=["x"],
        requires="question",
        routes=[route.deliver("x")],
        provide=["y"],  # type: ignore[call-overload]
    )
    assert told(validate(bad)) == (
        f"here:{at('slips')}: error AF103: node 'end': there is no option provide=; "
        f"did you mean provides=?\n"
        f"    hint: see the parameters of node\n"
        f"here:{at('slips')}: error AF103: node 'end': requires='question' is no list of field names\n"
        f"    hint: see the parameters of node"
    )


def test_every_slip_of_a_route_is_a_finding_at_the_route() -> None:
    bad = ending(
        routes=[
            route.deliver("x", lambda state: True, reads="xy"),  # at: reads
            route.deliver(5),  # type: ignore[arg-type] # at: deliver
        ]
    )
    assert told(validate(bad)) == (
        f"here:{at('reads')}: error AF103: node 'end': a route's reads='xy' is no list of field names\n"
        f"    hint: see the parameters of route.to, route.deliver and their kin\n"
        f"here:{at('deliver')}: error AF103: node 'end': a route's deliver names 5, which is no field "
        f"name\n"
        f"    hint: see the parameters of route.to, route.deliver and their kin"
    )


@pytest.mark.parametrize(
    ("options", "slip"),
    [
        ({"inputs": "a"}, "inputs='a' is no list of field names"),
        ({"inputs": ["a", 5]}, "inputs names 5, which is no field name"),
        ({"optional_inputs": 5}, "optional_inputs=5 is no list of field names"),
        ({"version": 2}, "version=2 is no text"),
        ({"description": ["x"]}, "description=['x'] is no text"),
        ({"policies": "x"}, "policies='x' is no list"),
        ({"policies": ["x"]}, "policies[0] is 'x'; make it with must_pass(…) or its kin"),
        ({"waive": ["AF210"]}, "waive=['AF210'] is no mapping with names as keys"),
        ({"max_round": 3}, "there is no option max_round=; did you mean max_rounds=?"),
    ],
)
def test_every_slip_of_the_workflow_is_a_finding_at_the_definition(
    options: dict[str, Any], slip: str
) -> None:
    report = validate(ending(), **options)  # at: workflow slips
    first = report.findings[0]
    assert (first.code, first.message) == ("AF103", f"workflow 'workflow': {slip}")
    assert first.place is not None
    assert (first.place.file, first.place.line) == (__file__, at("workflow slips"))
    assert first.hint == "see the parameters of define_workflow"


@pytest.mark.parametrize(
    ("nodes", "slip"),
    [
        ([ending(), "reply"], "nodes[1] is 'reply'; make it a node with @node"),
        ([ending(), len], "nodes[1] is <built-in function len>; make it a node with @node"),
        ("nodes", "nodes='nodes' is no list"),
        (5, "nodes=5 is no list"),
        (ending(), "nodes is one node; it takes a list"),
    ],
)
def test_what_is_no_node_is_named(nodes: Any, slip: str) -> None:
    from agentflow.graph.workflow import assemble

    report = assemble("w", nodes, place=None).report
    assert (report.findings[0].code, report.findings[0].message) == (
        "AF103",
        f"workflow 'w': {slip}",
    )
    assert "AF104" not in codes(report)


def test_a_workflow_without_nodes_is_refused() -> None:
    report = validate()  # at: empty
    assert told(report) == (
        f"here:{at('empty')}: error AF104: workflow 'workflow' has no nodes\n"
        f"    hint: give at least one node with a route that ends the run"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"provides": ["x", "x"]},
        {"may_provide": ["x"]},
        {"may_provide": ["y", "y"]},
    ],
)
def test_a_field_declared_twice_is_refused(options: dict[str, Any]) -> None:
    finding = only(validate(ending(**options)))
    name = "y" if options.get("may_provide") == ["y", "y"] else "x"
    assert finding.code == "AF103"
    assert finding.message == (
        f"node 'end' declares the field {name!r} twice among provides and may_provide"
    )
    assert finding.hint == "keep one: provides for always, may_provide for sometimes"


# --- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "3", math.inf])
def test_max_rounds_is_a_whole_number_of_at_least_1(rounds: Any) -> None:
    report = validate(ending(), max_rounds=rounds)  # at: rounds
    assert told(report) == (
        f"here:{at('rounds')}: error AF118: max_rounds={rounds!r} is no whole number of at least 1\n"
        f"    hint: the entry opens round 1; a loop that may come back twice takes max_rounds=3"
    )
    assert validate(ending(), max_rounds=1).findings == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"timeout": 0}, "timeout=0 is no number of seconds above 0"),
        ({"timeout": -1.5}, "timeout=-1.5 is no number of seconds above 0"),
        ({"timeout": math.inf}, "timeout=inf is no number of seconds above 0"),
        ({"timeout": math.nan}, "timeout=nan is no number of seconds above 0"),
        ({"timeout": True}, "timeout=True is no number of seconds above 0"),
        ({"timeout": "1"}, "timeout='1' is no number of seconds above 0"),
        ({"retry": 3}, "retry=3 is no Retry"),
        ({"retry": Uses()}, "retry=Uses(model_calls=0, tool_calls=0) is no Retry"),
        ({"retry": Retry(0)}, "retry attempts=0: it is a whole number of at least 1"),
        ({"uses": {"model_calls": 1}}, "uses={'model_calls': 1} is no Uses"),
        (
            {"uses": Uses(tool_calls=-1)},
            "uses tool_calls=-1: a count is a whole number of at least 0, or None for any",
        ),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused_at_the_node(
    options: dict[str, Any], problem: str
) -> None:
    finding = only(validate(ending(**options)))
    assert finding.code == "AF118"
    assert finding.node == "end"
    assert finding.message == f"node 'end': {problem}"
    good: dict[str, Any] = {"timeout": 1.5, "retry": Retry(2), "uses": Uses(model_calls=1)}
    assert validate(ending(**good)).findings == ()


# --- schemas and contracts ---------------------------------------------------------------------


class Unresolved(TypedDict):
    x: Nowhere  # type: ignore[name-defined] # noqa: F821 - it is not there on purpose


class Odd(TypedDict):
    x: NotRequired[int]
    y: NotRequired[5]  # type: ignore[valid-type]


class Wrong(BaseModel):
    x: int = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            Unresolved,
            "the state schema: its fields cannot be read: NameError: name 'Nowhere' is not defined",
        ),
        (
            5,
            (
                "the state schema: its fields cannot be read: 5 is no TypedDict, "
                "pydantic model class or dataclass"
            ),
        ),
        (
            Wrong,
            "field 'x' of the state: its default is invalid: Input should be a valid integer (got None)",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_the_definition(
    state: Any, message: str
) -> None:
    finding = only(validate(ending(), state=state))
    assert (finding.code, finding.message, finding.node) == ("AF119", message, None)
    assert finding.hint == "use types that pydantic can validate, or a class of your own"


def test_a_field_that_cannot_be_validated_is_named() -> None:
    finding = only(validate(ending(), state=Odd))
    assert finding.message.startswith(
        "field 'y' of the state: no validator can be made for 5: 5 is not a Python type"
    )


class Guarded(BaseModel):
    x: int = 1
    _secret: int = 2

    @model_validator(mode="after")
    def _both(self) -> Guarded:
        return self

    def model_post_init(self, context: object) -> None:
        return None


class GuardedToo(Guarded):
    pass


@dataclasses.dataclass
class Prepared:
    x: int = 1

    def __post_init__(self) -> None:
        self.x += 1


class Quiet(BaseModel):
    x: int = 1
    _secret: int = 2


@pytest.mark.parametrize(
    ("state", "methods"),
    [
        (Guarded, ["_both", "model_post_init"]),
        (GuardedToo, ["_both", "model_post_init"]),
        (Prepared, ["__post_init__"]),
        (Quiet, []),
    ],
)
def test_methods_of_a_schema_that_wait_for_an_instance_are_warned_about(
    state: Any, methods: list[str]
) -> None:
    report = validate(ending(), state=state)
    name = state.__name__
    assert [(each.code, each.message) for each in report] == [
        (
            "AF125",
            f"{name}.{method} is never run: a state is checked field by field, and no {name} is made",
        )
        for method in methods
    ]


@pytest.mark.parametrize("result", [5, len, [], "NoSuchType", lambda value: value])
def test_a_result_that_cannot_be_checked_is_refused(result: Any) -> None:
    finding = only(validate(ending(), result=result))
    assert finding.code == "AF121"
    assert finding.message.startswith("the result contract ")
    assert " cannot be checked: " in finding.message
    assert finding.hint == "use a type that pydantic can validate"


@pytest.mark.parametrize("result", [None, int, list[int], int | None, Wrong, type(None), "int"])
def test_a_result_that_can_be_checked_is_accepted(result: Any) -> None:
    assert validate(ending(), result=result).findings == ()


# --- reports -----------------------------------------------------------------------------------


def unread() -> tuple[Node, Node]:
    """Two nodes with one warning: nobody reads what the first provides."""
    return node(
        lambda state: {"y": 1}, id="start", provides=["y"], routes=[route.to("end")]
    ), ending()


def test_errors_come_before_warnings_and_each_in_its_order() -> None:
    start, end = unread()
    report = validate(start, end)
    assert (report.ok, [each.code for each in report.warnings], report.errors) == (
        True,
        ["AF210"],
        (),
    )
    bad = validate(ending("a b"), ending("c d"), state=5)
    assert [(each.code, each.node) for each in bad.errors][:2] == [
        ("AF101", "a b"),
        ("AF101", "c d"),
    ]
    assert list(bad) == list(bad.findings)


def test_a_report_is_json_with_everything_in_it() -> None:
    report = validate(ending(routes=[route.to("end", field("x") == 1), route.to("gone")]))
    data = report.as_json()
    assert data["ok"] is False
    assert data["workflow"] == "workflow"
    first = data["findings"][0]
    assert (first["code"], first["severity"], first["node"]) == ("AF106", "error", "end")
    assert first["place"]["file"] == __file__
    assert set(first) == {
        *("code", "severity", "message", "hint", "workflow", "node", "place", "path", "details")
    }


def test_policies_and_budgets_given_besides_are_checked_like_everything() -> None:
    sound = define_workflow("sound", nodes=[ending()])
    report = validate(sound, policies=["mail"], budget=5)  # type: ignore[list-item, arg-type]
    assert [(each.code, each.message) for each in report] == [
        ("AF507", "policies[0] is 'mail'; make it with must_pass(…) or its kin"),
        ("AF118", "budget=5 is no Budget"),
    ]
    assert validate(sound, policies=[], budget=Budget(rounds=1)).findings == ()
