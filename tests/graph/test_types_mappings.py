"""Mappings of sub-workflows: what they are given and give back is what the fields on the other side take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from agentflow import Report, Workflow, define_workflow, field, node, route, subflow, validate
from agentflow.graph.findings import Finding
from tests.graph.definitions import at, told


class Trip(TypedDict):
    place: str
    number: int
    advice: NotRequired[str]
    days: NotRequired[dict[str, int]]
    free: NotRequired[Any]


class TripModel(BaseModel):
    place: str
    number: int
    advice: str = ""
    days: dict[str, int] = {}
    free: Any = None


@dataclass
class TripRecord:
    place: str
    number: int
    advice: str = ""
    days: dict[str, int] | None = None
    free: Any = None


class Weather(TypedDict):
    city: str
    days: NotRequired[list[int]]
    sky: NotRequired[str]


class WeatherModel(BaseModel):
    city: str
    days: list[int] = []
    sky: str = ""


@dataclass
class WeatherRecord:
    city: str
    days: list[int] | int = 0
    sky: str = ""


class Measured(WeatherModel):
    city: int  # type: ignore[assignment]

    @field_validator("city", mode="before")
    @classmethod
    def measure(cls, value: Any) -> Any:
        return len(value)


class Spelled(WeatherModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)


OUTER = pytest.mark.parametrize("outer", [Trip, TripModel, TripRecord])
INNER = pytest.mark.parametrize("inner", [Weather, WeatherModel, WeatherRecord])


def nothing(state: Any) -> Any:
    return None


def count(state: Any) -> int:
    return 1


def perhaps(state: Any) -> str | None:
    return None


def weather(inner: Any, *ends: Any, result: Any = None) -> Workflow[Any]:
    look = node(
        nothing,
        id="look",
        requires=["city"],
        provides=["sky", "days"],
        routes=list(ends) or [route.deliver("sky")],
    )
    waive = {} if ends else {"AF210": "the days are for others"}
    return define_workflow(
        "weather", nodes=[look], state=inner, inputs=["city"], result=result, waive=waive
    )


def trip(outer: Any, child: Workflow[Any], source: str, **outputs: str) -> Report:
    """The report of a workflow that gives `source` to the child's `city`, and takes `outputs`."""
    ask = subflow(
        "ask",
        child,
        inputs={"city": source},
        outputs=outputs,
        routes=[route.deliver(next(iter(outputs)))],
    )
    return validate(ask, state=outer, inputs=[source])


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


@OUTER
@INNER
def test_mappings_that_may_fit_are_silent(outer: Any, inner: Any) -> None:
    either = [route.deliver("days", field("sky") == "x"), route.deliver("sky")]
    for child, outputs in (
        (weather(inner), {"advice": "sky"}),
        (weather(inner), {"advice": "$result"}),
        (weather(inner), {"free": "days"}),
        (weather(inner, result=str), {"number": "$result"}),
        (weather(inner, result=Any), {"number": "$result"}),
        (weather(inner, *either), {"advice": "$result"}),
        (weather(inner, *either[:1], route.finish(perhaps)), {"advice": "$result"}),
        (weather(inner, *either[:1], route.finish(nothing)), {"days": "$result"}),
    ):
        report = trip(outer, child, "place", **outputs)
        assert report.findings == (), report.as_text()


@OUTER
@INNER
def test_an_input_that_never_fits_is_refused_with_both_types(outer: Any, inner: Any) -> None:
    finding = only(trip(outer, weather(inner), "number", advice="sky"))
    assert (finding.code, finding.node) == ("AF605", "ask")
    assert finding.message == (
        "node 'ask': the input 'city' of 'weather' is str, and 'number' is int"
    )
    assert finding.hint == "map another field to 'city', or convert 'number' in a node before"


@OUTER
@INNER
def test_an_output_that_never_fits_is_refused_with_both_types(outer: Any, inner: Any) -> None:
    finding = only(trip(outer, weather(inner), "place", days="sky"))
    assert (finding.code, finding.node) == ("AF605", "ask")
    days = "dict[str, int] | None" if outer is TripRecord else "dict[str, int]"
    assert finding.message == (
        f"node 'ask': the output 'days' takes {days}, and 'sky' of 'weather' is str"
    )
    assert finding.hint == "take another field of 'weather', or give 'days' that type"


@OUTER
@INNER
def test_a_result_that_never_fits_is_refused_whether_it_is_declared_or_not(
    outer: Any, inner: Any
) -> None:
    either = [route.deliver("sky", field("sky") == "x"), route.finish(count)]
    for child, kinds in (
        (weather(inner, route.finish(nothing), result=list[int]), "list[int]"),
        (weather(inner), "str"),
        (weather(inner, *either), "str or int"),
    ):
        finding = only(trip(outer, child, "place", days="$result"))
        assert f"and its result of 'weather' is {kinds}" in finding.message


def test_the_finding_stands_at_the_node() -> None:
    given: dict[str, Any] = {"inputs": {"city": "number"}, "outputs": {"advice": "sky"}}
    given["routes"] = [route.deliver("advice")]
    ask = subflow("ask", weather(Weather), **given)  # at: ask
    assert told(validate(ask, state=Trip, inputs=["number"])) == (
        f"here:{at('ask')}: error AF605: node 'ask': the input 'city' of 'weather' is str, "
        f"and 'number' is int\n"
        f"    hint: map another field to 'city', or convert 'number' in a node before"
    )


@pytest.mark.parametrize(("inner", "source"), [(Measured, "place"), (Spelled, "number")])
def test_a_class_with_rules_of_its_own_takes_what_it_takes(inner: Any, source: str) -> None:
    assert trip(Trip, weather(inner), source, advice="sky").findings == ()


def test_where_one_side_has_no_types_everything_fits() -> None:
    assert trip(Trip, weather(None), "number", days="sky").findings == ()
    assert trip(None, weather(Weather), "number", days="sky").findings == ()
