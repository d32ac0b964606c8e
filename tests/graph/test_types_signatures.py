"""Signatures: what functions say of their state and their update agrees with the schema and with their node."""

from __future__ import annotations

import functools
import sys  # noqa: F401 - an annotation below names it
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Never, NoReturn, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field, field_validator

from agentflow import NodeContext, Report, append, node, route, validate
from agentflow.graph.annotated import returned_type, state_type
from agentflow.graph.findings import Finding
from tests.graph.definitions import at, told
from tests.graph.typed_values import Strange


class Typed(TypedDict):
    question: str
    age: int
    notes: Annotated[list[str], append]
    mood: NotRequired[Literal["good", "bad"]]
    answer: NotRequired[str]


class Model(BaseModel):
    question: str
    age: int
    notes: Annotated[list[str], append] = Field(default_factory=list)
    mood: Literal["good", "bad"] = "good"
    answer: str = ""


@dataclass
class Record:
    question: str
    age: int
    notes: Annotated[list[str], append]
    mood: Literal["good", "bad"] = "good"
    answer: str = ""


STATES = pytest.mark.parametrize("state", [Typed, Model, Record])


class Asked(TypedDict):
    question: str
    age: float


class AskedModel(BaseModel):
    question: str
    mood: str = "good"


@dataclass
class AskedRecord:
    question: object
    notes: list[str]


class Misspelt(TypedDict):
    qestion: str


class MisspeltModel(BaseModel):
    qestion: str = ""


@dataclass
class MisspeltRecord:
    qestion: str


class WrongAge(TypedDict):
    question: str
    age: str


class WrongAgeModel(BaseModel):
    age: str


@dataclass
class WrongAgeRecord:
    age: str


class WrongMood(TypedDict):
    mood: NotRequired[Literal["fine", "poor"]]


class WrongNotes(TypedDict):
    notes: list[int]


class Unresolved(TypedDict):
    question: Nowhere  # type: ignore[name-defined] # noqa: F821 - it is not there on purpose


def report_of(function: Any, state: Any = Typed, **options: Any) -> Report:
    """The report of a workflow with this one function, which provides `answer`."""
    given: dict[str, Any] = {
        "id": "a",
        "provides": ["answer"],
        "routes": [route.deliver("answer")],
        **options,
    }
    return validate(node(function, **given), state=state, inputs=[])


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


def taking(view: Any) -> Callable[..., Any]:
    """A function that takes the state for `view`."""

    def look(state: Any, ctx: NodeContext) -> Any:
        return {"answer": ""}

    look.__annotations__["state"] = view
    return look


def giving(update: Any) -> Callable[..., Any]:
    """A function that says it returns `update`."""

    async def give(state: Any) -> Any:
        return {"answer": ""}

    give.__annotations__["return"] = update
    return give


# --- the state ---------------------------------------------------------------------------------


@STATES
@pytest.mark.parametrize(
    "view",
    [
        *(Typed, Model, Record, Asked, AskedModel, AskedRecord),
        *(Mapping[str, Any], dict, Any, object, None, "Asked", "Nowhere", Unresolved, 5, BaseModel),
        *(Annotated[Asked, "a remark"], type[Asked], int, NodeContext),
    ],
)
def test_a_function_may_take_the_state_for_a_part_of_it_or_say_nothing(
    state: Any, view: Any
) -> None:
    report = report_of(taking(view), state)
    assert report.findings == (), report.as_text()


@STATES
@pytest.mark.parametrize("view", [Misspelt, MisspeltModel, MisspeltRecord])
def test_a_function_that_looks_for_a_field_that_is_not_there_is_refused(
    state: Any, view: Any
) -> None:
    finding = only(report_of(taking(view), state))
    assert (finding.code, finding.node) == ("AF601", "a")
    assert finding.message == (
        f"node 'a': look reads the state as {view.__name__}, where there is a field 'qestion'; "
        f"{state.__name__} has none"
    )
    assert finding.hint == "did you mean 'question'?"


@STATES
@pytest.mark.parametrize("view", [WrongAge, WrongAgeModel, WrongAgeRecord])
def test_a_function_that_takes_a_field_for_another_type_is_refused_with_both(
    state: Any, view: Any
) -> None:
    finding = only(report_of(taking(view), state))
    assert finding.message == (
        f"node 'a': look reads the state as {view.__name__}, where 'age' is str; "
        f"in {state.__name__} it is int"
    )
    assert finding.hint == f"give 'age' one type, in {state.__name__} or in {view.__name__}"


@pytest.mark.parametrize(
    ("view", "name", "theirs", "ours"),
    [
        (WrongMood, "mood", "Literal['fine', 'poor']", "Literal['good', 'bad']"),
        (WrongNotes, "notes", "list[int]", "list[str]"),
    ],
)
def test_values_and_items_count_too(view: Any, name: str, theirs: str, ours: str) -> None:
    finding = only(report_of(taking(view)))
    assert f"{name!r} is {theirs}; in Typed it is {ours}" in finding.message


def look_at(state: WrongAge) -> dict[str, str]:
    return {"answer": str(state["age"])}


def test_the_finding_stands_at_the_node() -> None:
    a = node(look_at, id="a", provides=["answer"], routes=[route.deliver("answer")])  # at: node
    report = validate(a, state=Typed, inputs=[])
    assert told(report) == (
        f"here:{at('node')}: error AF601: node 'a': look_at reads the state as WrongAge, "
        f"where 'age' is str; in Typed it is int\n"
        f"    hint: give 'age' one type, in Typed or in WrongAge"
    )


def is_old(state: WrongAge) -> bool:
    return bool(state["age"])


def tell(state: WrongAge) -> str:
    return state["age"]


def test_conditions_and_finish_functions_are_looked_at_too() -> None:
    first = route.finish(tell, when=is_old)  # at: route
    routes = [first, route.deliver("answer")]
    found = report_of(lambda state: {"answer": ""}, routes=routes).findings
    assert [(each.code, each.place and each.place.line) for each in found] == [
        ("AF601", at("route")),
        ("AF601", at("route")),
    ]
    assert "is_old reads" in found[0].message
    assert "tell reads" in found[1].message


class Reader:
    def __call__(self, state: WrongAge) -> dict[str, str]:
        return {"answer": ""}

    def method(self, state: WrongAge) -> dict[str, str]:
        return {"answer": ""}


def late(more: int, state: WrongAge) -> dict[str, str]:
    return {"answer": ""}


@functools.wraps(look_at)
def wrapped(*args: Any) -> Any:
    return look_at(*args)


@pytest.mark.parametrize(
    "function", [Reader(), Reader().method, functools.partial(late, 1), wrapped]
)
def test_whatever_can_be_a_body_is_read(function: Any) -> None:
    assert only(report_of(function)).code == "AF601"


def test_a_class_that_refuses_every_question_says_nothing() -> None:
    for annotation in (Strange, dict[str, Strange], Strange | None):
        assert report_of(taking(annotation)).findings == ()
        assert report_of(giving(annotation)).findings == ()


def test_an_untyped_workflow_has_nothing_to_disagree_with() -> None:
    assert report_of(taking(Misspelt), None).findings == ()


# --- the update --------------------------------------------------------------------------------


class Update(TypedDict):
    answer: str


class Partial(TypedDict, total=False):
    answer: str
    mood: Literal["good", "bad"]


class WrongAnswer(TypedDict):
    answer: list[str]


class More(TypedDict):
    answer: str
    mood: str


class Slip(TypedDict, total=False):
    anwser: str


class Notes(TypedDict):
    notes: list[str]


class OneNote(TypedDict):
    notes: str


class Counted(BaseModel):
    answer: str
    age: int

    @field_validator("age", mode="before")
    @classmethod
    def count(cls, value: Any) -> Any:
        return len(value)


@STATES
@pytest.mark.parametrize(
    "update",
    [
        *(Update, Partial, Update | None, None, dict, dict[str, str], dict[str, Any], Any, object),
        *(
            Mapping[str, object],
            dict[str, str | int] | None,
            NoReturn,
            Never,
            "Nowhere",
            Unresolved,
        ),
        Annotated[Update, "a remark"],
    ],
)
def test_a_function_may_say_that_it_returns_what_it_declares_or_nothing(
    state: Any, update: Any
) -> None:
    report = report_of(giving(update), state)
    assert report.findings == (), report.as_text()


def test_the_class_of_the_whole_state_is_no_claim_about_the_update() -> None:
    assert report_of(giving(Typed), Typed).findings == ()


@STATES
@pytest.mark.parametrize(
    ("update", "problem", "hint"),
    [
        (
            WrongAnswer,
            "node 'a' returns WrongAnswer, where 'answer' is list[str]; {} takes str",
            "return what 'answer' takes, or change its type",
        ),
        (
            More,
            "node 'a' returns More, where there is 'mood', which the node does not declare",
            "add 'mood' to provides",
        ),
        (
            dict[str, list[int]],
            "node 'a' returns dict[str, list[int]], where 'answer' is list[int]; {} takes str",
            "return what 'answer' takes, or change its type",
        ),
        (
            str | bool,
            "node 'a' returns str | bool, which is no update",
            "a node returns a mapping of the fields it changes, or None",
        ),
        (
            Model,
            "node 'a' returns Model, which is no update",
            "a node returns a mapping of the fields it changes, or None",
        ),
        (
            dict[int, str],
            "node 'a' returns dict[int, str], which is no update",
            "a node returns a mapping of the fields it changes, or None",
        ),
    ],
)
def test_a_function_that_returns_what_cannot_be_its_update_is_refused(
    state: Any, update: Any, problem: str, hint: str
) -> None:
    finding = only(report_of(giving(update), state))
    assert finding.code == "AF601"
    assert finding.message == problem.format(state.__name__)
    assert finding.hint == hint


def test_a_misspelt_key_is_found_from_both_sides() -> None:
    found = report_of(giving(Slip)).findings
    assert [(each.message, each.hint) for each in found] == [
        (
            "node 'a' returns Slip, where there is 'anwser', which the node does not declare",
            "did you mean 'answer'?",
        ),
        (
            "node 'a' returns Slip, where there is no 'answer', which the node provides",
            "add 'answer' to Slip, or take it out of provides",
        ),
    ]


def test_a_reduced_field_takes_its_delta() -> None:
    options = {"may_provide": ["notes"], "provides": [], "routes": [route.deliver("question")]}
    assert report_of(giving(Notes), **options).findings[0].code == "AF203"
    assert "where 'notes' is str" in report_of(giving(OneNote), **options).findings[0].message


def test_a_field_whose_class_converts_it_takes_whatever_it_converts() -> None:
    options = {"provides": ["answer", "age"], "routes": [route.finish(lambda state: 1)]}
    found = report_of(giving(dict[str, list[str]]), Counted, **options).findings
    assert [each.message for each in found] == [
        "node 'a' returns dict[str, list[str]], where 'answer' is list[str]; Counted takes str"
    ]


def test_names_count_without_types_too() -> None:
    finding = only(report_of(giving(More), None))
    assert "where there is 'mood', which the node does not declare" in finding.message


# --- reading signatures ------------------------------------------------------------------------


class Angry:
    """A signature that raises whatever is asked."""

    @property
    def __signature__(self) -> Any:
        raise RuntimeError("no")

    def __call__(self, state: Any) -> Any: ...


def quoted(annotation: Any) -> Callable[..., Any]:
    def function(state: Any) -> Any: ...

    function.__annotations__ |= {"state": annotation, "return": annotation}
    return function


@pytest.mark.parametrize(
    "function",
    [
        *(
            Angry(),
            len,
            print,
            lambda state: state,
            lambda *states: states,
            lambda **states: states,
        ),
        *(
            quoted("Nowhere"),
            quoted("1 +"),
            quoted("1 / 0"),
            quoted("sys.exit(3)"),
            quoted("x" * 9),
        ),
        *(quoted("[].nothing"), quoted("(" * 500), functools.partial(quoted("Nowhere"))),
    ],
)
def test_a_function_that_cannot_be_read_says_nothing(function: Any) -> None:
    assert state_type(function) is Any
    assert returned_type(function) is Any


def test_one_annotation_that_leads_nowhere_hides_no_other() -> None:
    function = quoted("Nowhere")
    function.__annotations__["return"] = "Update | None"
    assert returned_type(function) == Update | None
