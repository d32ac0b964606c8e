"""Routes: what each of them declares, and how it reads."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

from agentflow import Route, field, route
from tests.graph.definitions import at


def is_big(state: Any) -> bool:
    return bool(state["a"] > 5)


@pytest.mark.parametrize(
    ("made", "parts", "text"),
    [
        pytest.param(route.to("b"), {"kind": "to", "target": "b"}, "to 'b'"),
        pytest.param(
            route.to("b", field("x") == 1),
            {"kind": "to", "target": "b", "when": field("x") == 1, "reads": None},
            "to 'b' when x == 1",
        ),
        pytest.param(
            route.to("b", is_big, reads=["a"]),
            {"kind": "to", "target": "b", "when": is_big, "reads": ("a",)},
            "to 'b' when is_big(state)",
        ),
        pytest.param(
            route.to_if("b", is_big),
            {"kind": "to", "target": "b", "when": is_big},
            "to 'b' when is_big(state)",
        ),
        pytest.param(
            route.to_if_equal("b", "x.y", 3),
            {"kind": "to", "target": "b", "when": field("x.y") == 3},
            "to 'b' when x.y == 3",
            marks=pytest.mark.rule("R268"),
        ),
        pytest.param(
            route.to_if_error("b"),
            {
                "kind": "to",
                "target": "b",
                "when": field("error").exists() & ~field("error").is_none(),
            },
            "to 'b' when error is set",
        ),
        pytest.param(
            route.deliver("x"), {"kind": "deliver", "field": "x", "target": None}, "deliver 'x'"
        ),
        pytest.param(
            route.deliver("x", ~field("y").exists()),
            {"kind": "deliver", "field": "x", "when": ~field("y").exists()},
            "deliver 'x' when not y exists",
        ),
        pytest.param(
            route.deliver_if_ready("x"),
            {"kind": "deliver", "field": "x", "when": field("x").exists() & ~field("x").is_none()},
            "deliver 'x' when x is ready",
        ),
        pytest.param(
            route.finish(is_big, reads=("a", "b")),
            {"kind": "finish", "function": is_big, "reads": ("a", "b")},
            "finish with is_big",
        ),
        pytest.param(
            route.finish(functools.partial(is_big), lambda state: True),
            {"kind": "finish"},
            "finish with a function when <lambda>(state)",
        ),
    ],
)
def test_a_route_says_what_it_does(made: Route, parts: dict[str, Any], text: str) -> None:
    for name, value in parts.items():
        # Conditions are data: equality of theirs is equality of what they ask.
        assert getattr(made, name) == value, name
    assert str(made) == text
    assert made.slips == ()
    assert made.conditional is (" when " in text)


def test_a_route_knows_its_line() -> None:
    routes = [
        route.to("a"),
        route.deliver("b"),  # at: deliver
        route.deliver_if_ready("c"),  # at: ready
        route.to_if_error("d"),  # at: error
    ]
    assert [each.place and each.place.line for each in routes[1:]] == [
        *(at("deliver"), at("ready"), at("error"))
    ]
    assert routes[0].place is not None
    assert routes[0].place.file == __file__


def test_routes_are_values() -> None:
    assert route.to("a") == route.to("a")
    assert route.to("a") != route.to("b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        route.to("a").target = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("made", "slips"),
    [
        (route.to("b", reads="abc"), ("reads='abc' is no list of field names",)),
        (route.to("b", reads=5), ("reads=5 is no list of field names",)),  # type: ignore[arg-type]
        (route.to("b", reads=["a", 5]), ("reads names 5, which is no field name",)),  # type: ignore[list-item]
        (route.deliver(5), ("deliver names 5, which is no field name",)),  # type: ignore[arg-type]
        (route.deliver(""), ("deliver names '', which is no field name",)),
        (route.deliver_if_ready(None), ("deliver names None, which is no field name",)),  # type: ignore[arg-type]
        (route.finish(5, reads=[""]), ("reads names '', which is no field name",)),  # type: ignore[arg-type]
    ],
)
def test_a_slip_is_noted_and_never_raised(made: Route, slips: tuple[str, ...]) -> None:
    assert made.slips == slips


@pytest.mark.parametrize("target", [5, None, ["b"], is_big])
def test_a_target_that_is_no_text_is_kept_as_text_that_names_nothing(target: Any) -> None:
    for made in (route.to(target), route.to_if(target, is_big), route.to_if_error(target)):
        assert made.target is not None
        assert made.target.startswith("<")


def test_sets_of_reads_have_an_order() -> None:
    assert route.to("b", is_big, reads={"c", "a", "b"}).reads == ("a", "b", "c")
