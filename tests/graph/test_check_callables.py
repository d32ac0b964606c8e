"""Functions in a definition: the engine can call them, and routing is synchronous and readable."""

from __future__ import annotations

import functools
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from agentflow import Condition, Node, field, node, route, validate
from agentflow.graph.calling import is_async, takes, takes_context
from agentflow.graph.condition import AllOf, Test
from agentflow.graph.findings import Finding, Report
from tests.graph.definitions import at, codes, told

HINT_OF_A_BODY = (
    "a node's function is (state) or (state, ctx), async or plain, and returns a mapping or None"
)


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, report.as_text()
    return report.findings[0]


def ending(fn: Any = lambda state: {"x": 1}, **options: Any) -> Node:
    given: dict[str, Any] = {
        "id": "end",
        "provides": ["x"],
        "routes": [route.deliver("x")],
        **options,
    }
    made: Node = node(fn, **given)
    return made


class Caller:
    def __call__(self, state: Any) -> dict[str, int]:
        return {"x": 1}

    def method(self, state: Any, ctx: Any) -> dict[str, int]:
        return {"x": 1}

    async def later(self, state: Any) -> dict[str, int]:
        return {"x": 1}


class AsyncCaller:
    async def __call__(self, state: Any) -> bool:
        return True


def nothing() -> None: ...
def one(state: Any) -> None: ...
def two(state: Any, ctx: Any) -> None: ...
def three(state: Any, ctx: Any, extra: Any) -> None: ...
def with_default(state: Any, factor: int = 2) -> None: ...
def with_context_default(state: Any, ctx: Any = None) -> None: ...
def with_keyword(state: Any, *, factor: int) -> None: ...
def with_optional_keyword(state: Any, *, factor: int = 2) -> None: ...
def anything(*args: Any, **options: Any) -> None: ...
def rest(state: Any, *others: Any) -> None: ...
def generator(state: Any) -> Any:
    yield {"x": 1}


async def asynchronous(state: Any) -> Any:
    return True


async def async_generator(state: Any) -> Any:
    yield True


# --- bodies ------------------------------------------------------------------------------------


@pytest.mark.rule("R250")
@pytest.mark.parametrize(
    "fn",
    [
        *(one, two, with_default, with_context_default, with_optional_keyword, anything, rest),
        *(asynchronous, Caller(), Caller().method, Caller().later, functools.partial(two, ctx=1)),
        *(functools.partial(three, 1), lambda state: None, len, Mock(), AsyncMock()),
    ],
    ids=repr,
)
def test_whatever_takes_a_state_can_be_a_body(fn: Any) -> None:
    assert validate(ending(fn)).findings == ()


@pytest.mark.parametrize(
    ("fn", "problem"),
    [
        (nothing, "nothing() -> 'None' cannot be called with (state) or (state, ctx)"),
        (
            three,
            (
                "three(state: 'Any', ctx: 'Any', extra: 'Any') -> 'None' cannot be called with "
                "(state) or (state, ctx)"
            ),
        ),
        (
            with_keyword,
            (
                "with_keyword(state: 'Any', *, factor: 'int') -> 'None' cannot be called with "
                "(state) or (state, ctx)"
            ),
        ),
        (generator, "generator is a generator; a node returns its update once"),
        (
            functools.partial(async_generator),
            "async_generator is a generator; a node returns its update once",
        ),
        (Caller, "Caller is a class, not a function"),
        (5, "5 cannot be called"),
        ({"x": 1}, "{'x': 1} cannot be called"),
    ],
)
def test_a_body_that_cannot_be_called_is_refused_at_its_node(fn: Any, problem: str) -> None:
    bad = node(fn, id="end", provides=["x"], routes=[route.deliver("x")])  # at: body
    assert told(validate(bad)) == (
        f"here:{at('body')}: error AF117: node 'end': {problem}\n    hint: {HINT_OF_A_BODY}"
    )


@pytest.mark.parametrize(
    ("fn", "wanted"),
    [
        *((one, False), (two, True), (with_default, False), (with_context_default, True)),
        *((with_optional_keyword, False), (anything, True), (rest, True), (Caller(), False)),
        *((Caller().method, True), (functools.partial(three, 1), True), (len, False)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_the_context_is_given_to_who_has_a_place_for_it(fn: Any, wanted: bool) -> None:
    assert takes_context(fn) is wanted


def test_a_builtin_that_does_not_tell_its_arguments_is_believed() -> None:
    assert takes(dict.fromkeys, 1)
    assert takes(print, 1)


# --- predicates and finish functions -----------------------------------------------------------


@pytest.mark.rule("R262")
@pytest.mark.parametrize(
    "function",
    [
        *(asynchronous, async_generator, functools.partial(asynchronous), AsyncCaller()),
        *(Caller().later, AsyncMock(), node(asynchronous)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_async_predicates_and_finish_functions_are_refused(function: Any) -> None:
    assert isinstance(function, Node) or is_async(function)
    for made in (
        route.deliver("x", function),
        route.to_if("end", function),
        route.finish(function),
        route.finish(len, function),
    ):
        (finding,) = [
            each
            for each in validate(ending(routes=[made]), max_rounds=2)
            if each.code not in ("AF112", "AF113", "AF111")
        ]
        assert finding.code == "AF116"
        assert "is asynchronous" in finding.message


@pytest.mark.rule("R262")
def test_an_async_predicate_is_refused_at_the_line_of_its_route() -> None:
    bad = ending(
        routes=[
            route.deliver("x", asynchronous),  # type: ignore[arg-type] # at: predicate
            route.finish(asynchronous),  # at: finish
        ]
    )
    hint = "do the asynchronous work in a node, put what it found into a field, and route on that"
    assert told(validate(bad)) == (
        f"here:{at('predicate')}: error AF116: node 'end': the condition asynchronous is "
        f"asynchronous\n    hint: {hint}\n"
        f"here:{at('finish')}: error AF116: node 'end': the finish function asynchronous is "
        f"asynchronous\n    hint: {hint}"
    )


@pytest.mark.rule("R261")
@pytest.mark.parametrize(
    ("when", "code", "message", "hint"),
    [
        (5, "AF117", "the condition 5 cannot be called", "give a function (state)"),
        ("x == 1", "AF117", "the condition 'x == 1' cannot be called", "give a function (state)"),
        (True, "AF117", "the condition True cannot be called", "give a function (state)"),
        (
            two,
            "AF117",
            "the condition two cannot be called with the state alone",
            "make it a function of one argument, the state",
        ),
        (
            nothing,
            "AF117",
            "the condition nothing cannot be called with the state alone",
            "make it a function of one argument, the state",
        ),
        (
            generator,
            "AF117",
            "the condition generator is a generator; it must return its answer",
            "return the answer, do not yield it",
        ),
        (
            field("x"),
            "AF117",
            "field('x') is no condition yet",
            "compare it, as in field('x') == 1, or ask .exists()",
        ),
    ],
)
def test_a_condition_that_cannot_be_asked_is_refused(
    when: Any, code: str, message: str, hint: str
) -> None:
    bad = ending(routes=[route.deliver("x", when), route.finish(len)])
    finding = only(validate(bad))
    assert (finding.code, finding.message, finding.hint) == (code, f"node 'end': {message}", hint)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (None, "the finish function None cannot be called"),
        (5, "the finish function 5 cannot be called"),
        (two, "the finish function two cannot be called with the state alone"),
        (generator, "the finish function generator is a generator; it must return its answer"),
    ],
)
def test_a_finish_function_that_cannot_be_called_is_refused(function: Any, message: str) -> None:
    finding = only(validate(ending(routes=[route.finish(function)])))
    assert (finding.code, finding.message) == ("AF117", f"node 'end': {message}")


@pytest.mark.rule("R261")
@pytest.mark.parametrize("when", [lambda state: True, one, bool, Caller(), anything, Mock()])
def test_any_synchronous_function_of_the_state_is_a_condition(when: Any) -> None:
    report = validate(ending(routes=[route.deliver("x", when, reads=["x"]), route.finish(len)]))
    assert report.findings == ()


# --- conditions as data ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        (field("") == 1, "the condition  == 1 has a malformed path"),
        (field("a.") == 1, "the condition a. == 1 has a malformed path"),
        (field("a..b").exists(), "the condition a..b exists has a malformed path"),
        (field(5).exists(), "the condition <5> exists has a malformed path"),  # type: ignore[arg-type]
        (
            field("x") == field("y"),
            "the condition x == field('y') compares two fields; compare a field with a constant",
        ),
        (
            field("x").is_in([1, field("y")]),
            "the condition x in [1, field('y')] compares two fields; compare a field with a constant",
        ),
        (
            field("x").is_in("abc"),
            (
                "the condition x in ['abc'] wants a list of values, "
                "as in field('x').is_in(['a', 'b'])"
            ),
        ),
        (
            field("x").is_in(5),  # type: ignore[arg-type]
            "the condition x in [5] wants a list of values, as in field('x').is_in(['a', 'b'])",
        ),
        (Test(("x",), "~=", 1), "the condition x ~= 1 has the unknown operator '~='"),
        (Condition(), "<agentflow.graph.condition.Condition object at"),
        (AllOf((len,)), "<built-in function len> is no condition; start it with field('…')"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["plain", "combined"])
def test_a_malformed_condition_is_refused_wherever_it_stands(
    when: Condition, problem: str, inside: bool
) -> None:
    whole = ~(when | (field("x") == 1)) & (field("x") == 2) if inside else when
    bad = ending(
        routes=[
            route.deliver("x", whole),  # at: condition
            route.finish(len),
        ]
    )
    report = validate(bad)
    finding = report.findings[0]
    assert finding.code == "AF103"
    assert finding.message.startswith(f"node 'end': {problem}")
    assert finding.place is not None
    assert finding.place.line == at("condition")
    assert codes(report) == ["AF103"]
