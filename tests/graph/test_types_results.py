"""Results: no path ends with a value that the result contract always refuses."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import (
    ContractError,
    Node,
    Report,
    append,
    define_workflow,
    field,
    node,
    route,
    validate,
)
from agentflow.graph.findings import Finding
from tests.graph.definitions import at, codes, told


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Typed(TypedDict):
    text: NotRequired[str]
    maybe: NotRequired[str | None]
    number: NotRequired[int]
    either: NotRequired[int | list[str]]
    status: NotRequired[Literal["on", "off", "broken"]]
    colour: NotRequired[Colour]
    names: NotRequired[list[str]]
    flag: NotRequired[bool]
    free: NotRequired[Any]
    bag: NotRequired[list[int] | None]
    grade: NotRequired[Literal["a", "b"] | int]


class Model(BaseModel):
    text: str = ""
    maybe: Optional[str] = None  # noqa: UP045 - both spellings
    number: int = 0
    either: int | list[str] = 0
    status: Literal["on", "off", "broken"] = "on"
    colour: Colour = Colour.RED
    names: list[str] = []
    flag: bool = False
    free: Any = None
    grade: Literal["a", "b"] | int = "a"


@dataclass
class Record:
    text: str = ""
    maybe: str | None = None
    number: int = 0
    either: int | list[str] = 0
    status: Literal["on", "off", "broken"] = "on"
    colour: Colour = Colour.RED
    names: Annotated[list[str], append] = dataclasses.field(default_factory=list)
    flag: bool = False
    free: Any = None
    grade: Literal["a", "b"] | int = "a"


STATES = pytest.mark.parametrize("state", [Typed, Model, Record])


def nothing(state: Any) -> Any:
    return None


def ending(name: str, *routes: Any, id: str = "end", **options: Any) -> Node:
    """A node that provides a field and ends with it, unless other routes are given."""
    given: dict[str, Any] = {
        "provides": [name],
        "routes": list(routes) or [route.deliver(name)],
        **options,
    }
    return node(nothing, id=id, **given)


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


# --- deliveries that never fit -----------------------------------------------------------------


@STATES
@pytest.mark.parametrize(
    ("name", "result"),
    [
        *(("text", str), ("text", int), ("text", Any), ("text", None), ("text", str | None)),
        *(
            ("number", float),
            ("number", bool),
            ("colour", str),
            ("flag", int),
            ("names", tuple[str, ...]),
        ),
        *(
            ("free", int),
            ("free", str),
            ("status", str),
            ("status", Literal["off", "on", "broken"]),
        ),
        *(("maybe", str | None), ("maybe", Any), ("grade", int | str), ("either", int | list[str])),
    ],
)
def test_a_field_that_the_contract_may_take_is_delivered_in_silence(
    state: Any, name: str, result: Any
) -> None:
    report = validate(ending(name), state=state, result=result, inputs=[])
    assert report.findings == (), report.as_text()


@STATES
@pytest.mark.parametrize(
    ("name", "kind", "result", "wanted"),
    [
        ("number", "int", str, "str"),
        ("text", "str", list[str], "list[str]"),
        ("text", "str", Literal[1], "Literal[1]"),
        ("status", "Literal['on', 'off', 'broken']", Colour, "Colour"),
        ("colour", "Colour", Literal["green"], "Literal['green']"),
        ("number", "int", Colour, "Colour"),
        ("maybe", "str | None", list[str] | Literal[1], "list[str] | Literal[1]"),
    ],
)
def test_a_field_that_the_contract_never_takes_is_refused_with_both_types(
    state: Any, name: str, kind: str, result: Any, wanted: str
) -> None:
    report = validate(ending(name), state=state, result=result, inputs=[])
    finding = only(report)
    assert (finding.code, finding.node, finding.path) == ("AF602", "end", ())
    assert finding.message == (
        f"node 'end' delivers {name!r}, which is {kind}; the result is to be {wanted}"
    )


def test_the_finding_of_a_wrong_delivery_stands_at_its_route() -> None:
    wrong = route.deliver("number")  # at: route
    report = validate(ending("number", wrong), state=Typed, result=list[str])
    assert told(report) == (
        f"here:{at('route')}: error AF602: node 'end' delivers 'number', which is int; "
        f"the result is to be list[str]\n"
        f"    hint: end with a value of that type, or change result="
    )


def test_a_wrong_delivery_is_told_together_with_what_is_wrong_with_the_graph() -> None:
    lost = ending("number", id="lost")
    report = validate(ending("number"), lost, state=Typed, result=str)
    assert codes(report) == ["AF109", "AF602", "AF602"]


# --- None, where it may come to an end ---------------------------------------------------------


@STATES
def test_none_at_an_end_whose_contract_refuses_it_is_an_error_with_the_path(state: Any) -> None:
    first = ending("maybe", route.to("end"), id="look_up")
    last = node(nothing, id="end", routes=[route.deliver("maybe")])  # at: last
    report = validate(first, last, state=state, result=str, inputs=[])
    assert told(report) == (
        f"here:{at('last')}: error AF602: node 'end' delivers 'maybe', which may be None; "
        f"the result is to be str\n"
        f"    path: look_up -> end\n"
        f"    hint: use route.deliver_if_ready('maybe') with a route for the other case, "
        f"or let the result be None too"
    )


@STATES
def test_none_that_is_ruled_out_on_the_way_is_none_at_no_end(state: Any) -> None:
    sorry = ending("text", id="sorry")
    for routes in (
        [route.deliver_if_ready("maybe"), route.to("sorry")],
        [route.to("sorry", field("maybe").is_none()), route.deliver("maybe")],
        [route.to("sorry", field("maybe") == None), route.deliver("maybe")],  # noqa: E711
        [route.deliver("maybe", field("maybe") == "yes"), route.to("sorry")],
    ):
        report = validate(ending("maybe", *routes), sorry, state=state, result=str, inputs=[])
        assert report.findings == (), report.as_text()


def test_what_several_paths_lead_to_is_told_once_with_the_shortest() -> None:
    begin = ending(
        "flag",
        route.to("detour", field("flag") == True),  # noqa: E712
        route.to("end"),
        id="begin",
        provides=["flag", "maybe"],
    )
    detour = node(nothing, id="detour", routes=[route.to("end")])
    end = node(nothing, id="end", routes=[route.deliver("maybe", field("flag").exists())])
    finding = only(validate(begin, detour, end, state=Typed, result=str, inputs=[]))
    assert finding.path == ("begin", "end")


@STATES
def test_none_alone_at_an_end_is_none_for_sure(state: Any) -> None:
    routes = [route.deliver("maybe", field("maybe").is_none()), route.deliver("text")]
    report = validate(
        ending("maybe", *routes, provides=["maybe", "text"]), state=state, result=str, inputs=[]
    )
    assert "delivers 'maybe', which is None;" in only(report).message


def test_none_of_an_unknown_type_is_refused_only_where_it_is_sure() -> None:
    sure = ending("free", route.deliver("free", field("free").is_none()), route.deliver("free"))
    finding = only(validate(sure, state=Typed, result=str))
    assert "which is None;" in finding.message
    untyped = ending("free", route.deliver("free", field("free") != "a"), route.deliver("free"))
    assert validate(untyped, result=str).findings == ()


async def test_what_the_finding_says_is_what_the_run_does() -> None:
    async def look_up(state: Any) -> dict[str, None]:
        return {"maybe": None}

    given: dict[str, Any] = {"id": "a", "provides": ["maybe"], "routes": [route.deliver("maybe")]}
    unwaived = node(look_up, **given)
    assert codes(validate(unwaived, state=Typed, result=str)) == ["AF602"]
    waived = node(look_up, waive={"AF602": "to see it fail"}, **given)
    workflow = define_workflow("w", nodes=[waived], state=Typed, result=str)
    with pytest.raises(ContractError):
        await workflow.run()


# --- values, where they may come to an end -----------------------------------------------------


@STATES
def test_a_value_that_the_contract_refuses_is_found_where_no_route_rules_it_out(state: Any) -> None:
    result = Literal["on", "off"]
    report = validate(ending("status"), state=state, result=result, inputs=[])
    finding = only(report)
    assert (finding.code, finding.path) == ("AF602", ("end",))
    assert finding.message == (
        "node 'end' delivers 'status', which may be 'broken'; the result is to be Literal['on', 'off']"
    )
    assert finding.hint == "ask field('status') on the way, or let the result be that too"
    routes = [route.to("end", field("status") == "broken"), route.deliver("status")]
    begin = ending("status", *routes, id="begin")
    end = node(nothing, id="end", provides=["status"], routes=[route.deliver("text")])
    mended = validate(
        begin, end, state=state, result=str, inputs=["text"], waive={"AF211": "a test"}
    )
    assert mended.findings == (), mended.as_text()


def test_of_many_values_only_the_first_are_named() -> None:
    state = TypedDict("state", {"code": Literal[tuple(range(100))]})  # type: ignore[misc] # noqa: UP013
    finding = only(validate(ending("code"), state=state, result=Literal[0], inputs=[]))
    assert "which may be 1 or 2 or 3 or 4 or 5 or 6 or 93 more;" in finding.message


def test_a_field_that_is_asked_too_much_to_be_followed_is_left_to_the_run() -> None:
    asked = [route.to("other", field("bag").contains(each)) for each in range(11)]
    end = ending("bag", *asked, route.deliver("bag"))
    other = node(nothing, id="other", routes=[route.finish(nothing)])
    assert validate(end, other, state=Typed, result=Literal["x", None]).findings == ()
    few = ending("bag", *asked[:2], route.deliver("bag"))
    assert "AF602" in codes(validate(few, other, state=Typed, result=Literal["x", None]))


def test_members_of_an_enum_are_values_too() -> None:
    finding = only(validate(ending("colour"), state=Typed, result=Literal[Colour.RED]))
    assert "which may be Colour.BLUE;" in finding.message


def test_several_values_are_told_at_once_and_other_ones_with_their_own_path() -> None:
    other = node(nothing, id="other", routes=[route.deliver("status")])
    begin = ending(
        "status",
        route.to("other", field("status") == "on"),
        route.deliver("status"),
    )
    report = validate(begin, other, state=Typed, result=Literal["nothing", "broken"])
    assert [each.message.partition(";")[0] for each in report.findings] == [
        "node 'end' delivers 'status', which may be 'off'",
        "node 'other' delivers 'status', which is 'on'",
    ]
    assert report.findings[1].path == ("end", "other")


def test_a_part_of_a_union_that_no_route_can_rule_out_is_a_warning() -> None:
    finding = only(validate(ending("either"), state=Typed, result=list[str]))
    assert finding.code == "AF603"
    assert finding.message == (
        "node 'end' delivers 'either', which may be int; the result is to be list[str]"
    )
    assert finding.hint == (
        "let the result be of that type too, or have the field hold only what the result may be"
    )


def test_a_part_of_a_union_that_a_comparison_rules_out_is_at_no_end() -> None:
    routes = [route.deliver("either", field("either") == 3), route.finish(count)]
    assert validate(ending("either", *routes), state=Typed, result=int).findings == ()


def test_values_and_parts_are_told_apart() -> None:
    found = validate(ending("grade"), state=Typed, result=Literal["a"]).findings
    assert [(each.code, each.message.partition(";")[0]) for each in found] == [
        ("AF602", "node 'end' delivers 'grade', which may be 'b'"),
        ("AF603", "node 'end' delivers 'grade', which may be int"),
    ]


def test_a_list_of_which_only_the_empty_one_will_do_is_a_warning() -> None:
    finding = only(validate(ending("names"), state=Typed, result=list[list[str]]))
    assert finding.code == "AF603"
    assert finding.message == (
        "node 'end' delivers 'names', which may be list[str], of which only an empty one will do; "
        "the result is to be list[list[str]]"
    )


# --- finish functions --------------------------------------------------------------------------


def count(state: Any) -> int:
    return 1


def perhaps(state: Any) -> str | None:
    return None


def unresolved(state: Any) -> Nowhere:  # type: ignore[name-defined] # noqa: F821 - not there on purpose
    return None


@pytest.mark.parametrize("state", [None, Typed, Model, Record])
def test_a_finish_function_that_says_it_gives_another_type_is_refused(state: Any) -> None:
    finding = only(
        validate(ending("text", route.finish(count)), state=state, result=str, inputs=[])
    )
    assert finding.code == "AF602"
    assert finding.message == (
        "node 'end' finishes with count, which gives int; the result is to be str"
    )


@pytest.mark.parametrize("function", [perhaps, unresolved, nothing, len, lambda state: 1])
def test_a_finish_function_that_may_give_the_result_is_believed(function: Any) -> None:
    report = validate(ending("text", route.finish(function)), state=Typed, result=str, inputs=[])
    assert report.findings == (), report.as_text()
